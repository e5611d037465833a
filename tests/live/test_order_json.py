"""Orders and ends survive their way between server and agent."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tradewind.live.needed_files import needed_files
from tradewind.live.order_json import MalformedError, Sent, end_json, end_of, order_json, order_of, replaced
from tradewind.live.port import Broke, Done, Order, ShareOrder, Usage
from tradewind.model.action import Call, Container, Derived, Divisible, Function, Limits, Output, Ref, Shell

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
plain: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words | st.just("$ref"), inner, max_size=3),
    max_leaves=8,
)
refs = st.builds(Ref, words, words, st.lists(words | st.integers(0, 9), max_size=2).map(tuple))
values = st.recursive(
    plain | refs,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(words, inner, max_size=2)
        | st.builds(Derived, words, st.dictionaries(words, inner, max_size=2))
    ),
    max_leaves=5,
)
actions = st.one_of(
    st.builds(Shell, words, words),
    st.builds(Function, words),
    st.builds(Container, words, words, st.lists(words, max_size=2).map(tuple), st.booleans(), words),
    st.builds(lambda *texts: Divisible(0, texts[0], texts[1], reducer=texts[2], reduce=texts[3]), *[words] * 4),
)
paths = st.sampled_from(["", "out.txt", "a/*.bam", "**/x y"])
calls = st.builds(
    Call,
    words,
    actions,
    st.dictionaries(words, values, max_size=2),
    st.dictionaries(words, st.builds(Output, paths, st.booleans(), paths, st.booleans()), max_size=2),
    st.dictionaries(words, words, max_size=2),
    st.builds(Limits, st.none() | st.integers(0, 10**12), st.none() | st.integers(0, 10**12)),
)
shares = st.none() | st.just(ShareOrder("/agent/v1/shares/1.1", "secret", 10**9))
orders = st.builds(
    Order,
    st.just("1abc-7"),
    st.integers(0, 10**9),
    st.integers(1, 99),
    st.integers(0, 99),
    words,
    st.lists(calls, max_size=3).map(tuple),
    words,
    st.sampled_from(["", "/srv/x.checkpoint"]),
    st.integers(1, 9),
    st.none() | st.integers(1, 10**12),
    st.integers(0, 9),
    shares,
)


@given(orders, st.integers(0, 9))
def test_an_order_arrives_as_it_was_sent(order: Order, slot: int) -> None:
    files = (Sent("/srv/runs/r/x", "x", 3),)
    found = order_of(json.loads(json.dumps(order_json(order, slot, files))))
    assert (found.run, found.key, found.slot) == (order.run, (order.unit, order.attempt), slot)
    assert found.calls == order.calls
    assert (found.cpus, found.memory, found.most) == (order.cpus, order.memory, order.most)
    assert found.share == order.share
    assert found.files == files
    assert bool(found.checkpoints) == bool(order.checkpoint)


usages = st.builds(Usage, st.floats(0, 1e9), st.integers(0, 10**12))
results = st.dictionaries(words, st.dictionaries(words, plain, max_size=2), max_size=2)
ends = st.builds(
    lambda unit, found, usage: Done(unit, 1, 3, found, usage), st.integers(0, 9), results, usages
) | st.builds(
    lambda unit, cause, text, usage: Broke(unit, 2, 3, cause, text, text, text, usage),
    st.integers(0, 9),
    st.sampled_from(["error", "lost"]),
    words,
    usages,
)


@given(ends)
def test_an_end_arrives_as_it_was_sent(end: Done | Broke) -> None:
    assert end_of(json.loads(json.dumps(end_json(end))), 3) == end


@given(st.recursive(plain, lambda inner: st.dictionaries(st.sampled_from(["unit", "calls", "results"]), inner)))
def test_nothing_malformed_gets_through(data: Any) -> None:
    for read in (order_of, lambda found: end_of(found, 1)):
        try:
            read(data)
        except MalformedError:
            continue
        raise AssertionError("it is neither an order nor an end")


def test_texts_are_replaced_wherever_they_are() -> None:
    value = {"a": ["x", {"b": "x/y"}], "c": 3, "d": Derived("{{ e }}", {"e": "x", "f": Ref("x", "x")})}
    assert replaced(value, lambda text: text.replace("x", "z")) == {
        "a": ["z", {"b": "z/y"}],
        "c": 3,
        "d": Derived("{{ e }}", {"e": "z", "f": Ref("x", "x")}),
    }


def test_files_of_the_server_are_found_in_inputs(tmp_path: Path) -> None:
    for path in ("runs/r/a.1/out file", "runs/r/a.1/dir/x", "runs/r/a.1/dir/y/z", "inputs/ada/1/in.txt", "store.db"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("data")
    root = str(tmp_path)
    inputs = {
        "one": f"{root}/runs/r/a.1/out file",
        "folder": [f"{root}/runs/r/a.1/dir"],
        "inside": f"--in={root}/inputs/ada/1/in.txt,x",
        "gone": f"{root}/runs/r/a.1/none",
        "ours": f"{root}/store.db",
        "away": f"{root}/runs/../store.db",
        "other": "/etc/passwd",
    }
    order = Order("r", 1, 1, 1, "c", (Call("a", Shell("true"), inputs),), "f")
    assert needed_files(order, root) == (
        Sent(f"{root}/runs/r/a.1/out file", "out file", 4),
        Sent(f"{root}/runs/r/a.1/dir", "dir/x", 4),
        Sent(f"{root}/runs/r/a.1/dir", "dir/y/z", 4),
        Sent(f"{root}/inputs/ada/1/in.txt", "in.txt", 4),
    )
