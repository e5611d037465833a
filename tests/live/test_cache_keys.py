"""Keys and digests: what is equal has equal keys, whatever differs is named."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.live.cache import digests
from tradewind.live.cache.cache import Cache, is_cacheable
from tradewind.live.cache.digests import Digests
from tradewind.live.cache.files import adopt, are_whole, seals
from tradewind.live.cache.keys import Key, Keys
from tradewind.live.cache.why import Difference, why_not_cached
from tradewind.live.store.memory import MemoryStore
from tradewind.live.store.rows import CacheRow, DigestRow
from tradewind.model.action import Call, Container, Function, Output, Shell

CALL = Call("a", Shell("do {{ x }}"), {}, {"o": Output("out.txt")}, {"E": "1"})
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 100) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def key_of(call: Call, inputs: Mapping[str, Any], *modules: object) -> Key:
    return Keys(Digests(lambda _: None), [str(module) for module in modules]).of(call, inputs)


@settings(max_examples=50)
@given(one=VALUES, other=VALUES)
def test_equal_inputs_and_only_those_have_equal_keys(one: Any, other: Any) -> None:
    first, second = key_of(CALL, {"x": one}), key_of(CALL, {"x": other})
    assert (first.text == second.text) == (json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True))


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        (replace(CALL, action=Shell("do it {{ x }}")), "command"),
        (replace(CALL, action=Container("i", "do {{ x }}")), "command"),
        (replace(CALL, action=Shell("do {{ x }}", "sh")), "shell"),
        (replace(CALL, environment={"E": "2"}), "env.E"),
        (replace(CALL, environment={}), "env.E"),
        (replace(CALL, outputs={"p": Output("out.txt")}), "outputs"),
    ],
)
def test_each_part_counts(changed: Call, part: str) -> None:
    one, other = key_of(CALL, {"x": 1}), key_of(changed, {"x": 1})
    assert one.text != other.text
    assert one.parts.get(part) != other.parts.get(part)


def test_files_count_by_what_is_in_them_and_their_name(tmp_path: Path) -> None:
    for folder in ("one", "two", "three"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "f").write_text("same" if folder != "three" else "other")
    one, two, three = (key_of(CALL, {"x": [str(tmp_path / folder / "f")]}).text for folder in ("one", "two", "three"))
    assert one == two != three
    (tmp_path / "two" / "f").rename(tmp_path / "two" / "g")
    assert key_of(CALL, {"x": [str(tmp_path / "two" / "g")]}).text != one
    whole = key_of(CALL, {"x": str(tmp_path / "one")}).text
    (tmp_path / "one" / "more").write_text("")
    assert key_of(CALL, {"x": str(tmp_path / "one")}).text != whole


def test_the_code_of_a_function_is_the_file_of_its_module_or_its_version(tmp_path: Path) -> None:
    call = replace(CALL, action=Function("pack.mod:f"))
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "mod.py").write_text("def f(): return 1")
    one = key_of(call, {}, tmp_path)
    (tmp_path / "pack" / "mod.py").write_text("def f(): return 22")
    assert key_of(call, {}, tmp_path).text != one.text
    versions = [replace(CALL, action=Function("m:call", version)) for version in ("v1", "v1", "v2")]
    first, same, later = (key_of(each, {"function": at, "x": 1}).text for at, each in enumerate(versions))
    assert first == same != later


def test_a_file_that_has_kept_its_size_and_time_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests, "LARGE", 4)
    read: list[str] = []

    def reading(path: str) -> str:
        read.append(path)
        return f"digest {len(read)}"

    monkeypatch.setattr(digests, "_read", reading)
    file = tmp_path / "f"
    file.write_text("large enough")
    kept: dict[str, DigestRow] = {}
    first = Digests(kept.get)
    assert [first.text(str(file)) for _ in range(3)] == ["digest 1"] * 3
    kept |= {row.path: row for row in first.fresh}
    second = Digests(kept.get)
    assert (second.text(str(file)), second.fresh) == ("digest 1", [])
    os.utime(file, ns=(1, 1))
    assert second.text(str(file)) == "digest 2"
    monkeypatch.setattr(digests, "LARGEST", 5)
    assert Digests(kept.get).text(str(file)).startswith("unread ")
    assert second.of(str(tmp_path / "nowhere")) is None


def test_files_are_adopted_with_new_paths_and_known_to_be_whole(tmp_path: Path) -> None:
    old = tmp_path / "old"
    (old / "deep" / "er").mkdir(parents=True)
    for name in ("a.txt", "deep/b.txt", "deep/er/c.txt"):
        (old / name).write_text(name)
    outputs = {"one": Output("a.txt"), "folder": Output("deep"), "n": Output(value="json")}
    results = {"one": str(old / "a.txt"), "folder": str(old / "deep"), "n": [1, str(old / "a.txt")]}
    sealed = seals(outputs, results)
    assert sealed is not None
    assert are_whole(sealed)
    found, again = adopt(outputs, results, sealed, str(tmp_path / "new"))
    assert found["one"] == str(tmp_path / "new" / "a.txt")
    assert found["n"][1] == found["one"]
    assert (Path(found["folder"]) / "er" / "c.txt").read_text() == "deep/er/c.txt"
    assert are_whole(again)
    (old / "a.txt").unlink()
    assert not are_whole(sealed)
    assert are_whole(again)
    assert seals(outputs, results) is None


def test_the_closest_earlier_call_is_named_with_what_differs() -> None:
    def row(key: str, run: str, call: str, made: int, **parts: str) -> CacheRow:
        shown = {name: [text, text] for name, text in parts.items()}
        return CacheRow("t", key, "w/s", shown, run, call, {}, [], 1, made, made)

    entry = row("k", "r3", "s[1]", 30, command="c", x="2")
    far, near = row("f", "r1", "s[1]", 10, command="d", x="1"), row("n", "r2", "s[0]", 20, command="c", x="1")
    own, later = row("o", "r3", "s[0]", 30, command="c", x="9"), row("l", "r4", "s[1]", 40, command="c", x="3")
    found = why_not_cached(entry, [far, near, own, later])
    assert (found.closest, found.differences) == (near, (Difference("x", "1", "2"),))
    assert str(found) == "closest is s[0] of run r2: x was 1, is 2"
    assert str(why_not_cached(entry, [own])) == "nothing is remembered of it from any other run"
    assert str(Difference("inputs._2", "a", "a")) == "value 2 of the command has changed inside: a"
    assert str(Difference("env.E", None, "1")) == "env.E is new: 1"


def test_calls_without_outputs_and_those_that_say_so_are_not_cached() -> None:
    assert is_cacheable(CALL)
    assert not is_cacheable(replace(CALL, cache=False))
    assert not is_cacheable(replace(CALL, outputs={}))
    assert Cache(MemoryStore()).fresh_digests() == []
