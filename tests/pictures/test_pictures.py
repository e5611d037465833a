import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from runs import TYPES, run

from tradewind.core.series import Series
from tradewind.model.machine import MachineType
from tradewind.model.units import DAY
from tradewind.pictures.canvas import canvas, picture_format
from tradewind.pictures.comparison import draw_comparison
from tradewind.pictures.style import policy_colour, type_colours
from tradewind.pictures.timeline import draw_timeline
from tradewind.pictures.violins import Violin, draw_violins

FIVE = (*TYPES, *(MachineType(f"extra {number}", 1, limit=2) for number in range(3)))


def is_svg(path: Path) -> bool:
    return ET.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314  # our own file


@pytest.fixture(scope="module")
def series() -> Series:
    return run(tenants=2)


def test_a_timeline_has_room_for_several_tenants(tmp_path: Path) -> None:
    draw_timeline(run(tenants=3), tmp_path / "t.svg")
    assert is_svg(tmp_path / "t.svg")


@pytest.mark.parametrize(
    "drawn",
    [
        run(budget=None, policy="demand"),
        run(workflows=3, every=DAY),  # thousands of intervals
        run(types=FIVE),
        run(workflows=0),  # nothing ever happened
    ],
    ids=["no budget", "days", "five types", "nothing"],
)
def test_any_run_has_a_timeline(drawn: Series, tmp_path: Path) -> None:
    draw_timeline(drawn, tmp_path / "t.svg", "a title")
    assert is_svg(tmp_path / "t.svg")


def test_the_same_run_gives_the_same_bytes(series: Series, tmp_path: Path) -> None:
    first, second = tmp_path / "1.svg", tmp_path / "new" / "2.svg"
    draw_timeline(series, first)
    draw_timeline(series, second)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_the_name_of_the_file_says_its_format(suffix: str, start: bytes, tmp_path: Path) -> None:
    for name in ("1", "2"):
        with canvas(tmp_path / f"{name}.{suffix}", 2, 2) as figure:
            figure.add_subplot().plot([1, 2])
    first, second = ((tmp_path / f"{name}.{suffix}").read_bytes() for name in ("1", "2"))
    assert first.startswith(start)
    assert first == second


def test_policies_are_compared_in_one_picture(tmp_path: Path) -> None:
    runs = {policy: run(tenants=2, policy=policy) for policy in ("pfa", "scf")}
    draw_comparison(runs, tmp_path / "1.svg", "two policies")
    draw_comparison(runs, tmp_path / "2.svg", "two policies")
    assert is_svg(tmp_path / "1.svg")
    assert (tmp_path / "1.svg").read_bytes() == (tmp_path / "2.svg").read_bytes()


def test_a_policy_that_never_finishes_is_left_out_of_the_picture(tmp_path: Path) -> None:
    runs = {"pfa": run(), "broke": run(budget=0)}
    draw_comparison(runs, tmp_path / "both.svg", "two policies")
    text = (tmp_path / "both.svg").read_text()
    assert text.count("broke") == 1
    assert "left out: under broke the work never finished" in text
    with pytest.raises(ValueError, match="under broke the work never finished"):
        draw_comparison({"broke": run(budget=0)}, tmp_path / "one.svg")


def test_nothing_cannot_be_compared(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="nothing to compare"):
        draw_comparison({}, tmp_path / "c.svg")


def test_an_unknown_format_is_refused_before_anything_is_drawn(series: Series, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"must end in \.svg, \.png or \.pdf"):
        draw_timeline(series, tmp_path / "t.gif")
    assert picture_format(Path("a/B.SVG")) == "svg"


def test_without_matplotlib_the_remedy_is_named(
    series: Series, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ValueError, match=r"pictures need matplotlib: pip install 'tradewind\[plot\]'"):
        draw_timeline(series, tmp_path / "t.svg")
    assert not list(tmp_path.iterdir())


def test_a_failed_drawing_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), canvas(tmp_path / "x.svg", 2, 2):
        raise RuntimeError
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("values", [[3.0], [2.0, 2.0, 2.0], [0.001, 5.0, 900.0]])
@pytest.mark.parametrize("logarithmic", [False, True])
def test_violins_of_any_values(values: list[float], logarithmic: bool, tmp_path: Path) -> None:
    with canvas(tmp_path / "v.svg", 3, 3) as figure:
        draw_violins(figure.add_subplot(), [Violin("a", values, "#000000")], logarithmic=logarithmic)
    assert is_svg(tmp_path / "v.svg")


def test_a_policy_keeps_its_colour_whatever_its_parameters() -> None:
    assert policy_colour("PFA") == policy_colour("pfa m=10", 5) != policy_colour("plf")
    assert policy_colour("mine", 0) != policy_colour("theirs", 1)


def test_machine_types_have_colours_of_their_own() -> None:
    for count in range(1, 9):
        assert len(set(type_colours(count))) == count
