"""Frames in pieces, and orders as plain values."""

import marshal
import socket
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tradewind.live.engines.packing import pack
from tradewind.live.port import Order
from tradewind.live.worker.wire import Link, PackedCall, PackedOrder, frame
from tradewind.model.action import Call, Container, Function, Limits, Output, Ref, Shell

json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@settings(max_examples=40)
@given(st.lists(json, max_size=5), st.data())
def test_frames_survive_any_cut(messages: list[Any], data: st.DataObject) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        link = Link(ours)
        stream = b"".join(map(frame, messages))
        came = []
        while stream:
            cut = data.draw(st.integers(1, len(stream)))
            came += link.take(stream[:cut])
            stream = stream[cut:]
        assert came == messages


def test_what_cannot_be_sent_at_once_is_sent_later() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sender, receiver = Link(ours), Link(theirs)
        message = ["x" * 5_000_000, 1]
        assert not sender.write(frame(message))
        came: list[Any] = []
        while not came:
            sender.write()
            came += receiver.read() or []
        assert came == [message]
        assert sender.write()
        ours.close()
        assert receiver.read() is None


def test_orders_are_packed_as_plain_values() -> None:
    calls = (
        Call("a", Shell("true"), {"x": (1, {"y": Ref("z", "o", ("k", 0))})}, {"o": Output("p", many=True)}, {"V": "1"}),
        Call("b", Function("m:f"), limits=Limits(run=1_500_000, silence=2_000_000)),
        Call("c", Container("image", "command")),
    )
    order = Order("run", 7, 2, 1, "chain", calls, "folder", "/checkpoint", 3, 4)
    packed = PackedOrder(*marshal.loads(marshal.dumps(pack(order, "/base"))))  # noqa: S302
    assert packed._replace(calls=[]) == ("run", 7, 2, "/base/folder", "/checkpoint", 3, 4, 0, {}, [])
    assert [PackedCall(*call) for call in packed.calls] == [
        PackedCall(
            id="a",
            kind="shell",
            target="true",
            image="",
            inputs={"x": [1, {"y": ("z", "o", ("k", 0))}]},
            outputs={"o": ("p", True, "", False)},
            environment={"V": "1"},
            run=None,
            silence=None,
        ),
        PackedCall("b", "function", "m:f", "", {}, {}, {}, 1.5, 2.0),
        PackedCall("c", "container", "command", "image", {}, {}, {}, None, None, (False,)),
    ]
