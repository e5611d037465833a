"""Draw a run as lanes: one per machine, with a bar for each unit, coloured by its requirement.

Like Fig. 4 and 5 of the Steep paper, with time from left to right. A dark edge marks the start of a bar, hatching the
boot time of a machine, and a cross its loss. With many machines a lane is a row of pixels: white is idle.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tradewind.core.log import Record
from tradewind.core.state import State
from tradewind.core.work import Unit
from tradewind.model.command import Acquire, Kill, Release, Start, Welcomed
from tradewind.model.event import Failed, Finished, MachineFailed, MachineLeft, MachineLost, MachineReady
from tradewind.model.units import Time, show_duration
from tradewind.pictures.canvas import canvas
from tradewind.pictures.scale import TimeScale, time_scale
from tradewind.pictures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PALE, PINK, RED, SKY, YELLOW

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW = 64
"""Up to this many lanes, bars are drawn individually."""
PIXELS = 1_800
"""Number of time steps used to draw many lanes."""

OTHERS = "others"
NO_MOMENTS: Mapping[str, Time] = {}
_COLOURS = (BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW)


class Bar(NamedTuple):
    """A unit that ran on a machine."""

    begin: Time
    end: Time
    what: str
    """Its requirement or kind."""
    is_done: bool = True
    """Whether it succeeded."""


@dataclass(slots=True)
class Lane:
    """The history of one machine."""

    machine: int
    kind: str
    acquired: Time
    up: Time | None = None
    gone: Time | None = None
    is_lost: bool = False
    bars: list[Bar] = field(default_factory=list)


def needs(unit: Unit) -> str:
    """Return the requirement of a unit."""
    return str(unit.need.requirement)


class Lanes:
    """A recorder that follows a run and notes what ran where."""

    def __init__(self, state: State, what: Callable[[Unit], str] = needs) -> None:
        """`what`: the key by which bars are distinguished."""
        self._state = state
        self._what = what
        self._running: dict[int, dict[int, tuple[Time, str]]] = {}
        self.by_machine: dict[int, Lane] = {}

    @property
    def lanes(self) -> list[Lane]:
        """Return all machines by type, in the order of configuration, and then by number."""
        order = {kind.type.name: kind.index for kind in self._state.kinds}
        return sorted(self.by_machine.values(), key=lambda lane: (order[lane.kind], lane.machine))

    def observe(self, record: Record) -> None:
        """Process the next record of the log."""
        match record:
            case Start():
                self._running[record.machine][record.unit] = (record.at, self._what(self._state.units[record.unit]))
            case Finished() | Failed() | Kill():
                self._stop(record.machine, record.unit, record.at, is_done=isinstance(record, Finished))
            case Acquire():
                kind = self._state.kinds[record.kind].type.name
                self.by_machine[record.machine] = Lane(record.machine, kind, record.at)
                self._running[record.machine] = {}
            case Welcomed():
                kind = self._state.kinds[record.kind].type.name
                self.by_machine[record.machine] = Lane(record.machine, kind, record.at, record.at)
                self._running[record.machine] = {}
            case MachineReady() if self.by_machine[record.machine].gone is None:
                self.by_machine[record.machine].up = record.at
            case Release() | MachineLost() | MachineFailed() | MachineLeft():
                self._leave(record.machine, record.at, is_lost=not isinstance(record, Release))
            case _:
                pass

    def _stop(self, machine: int, unit: int, at: Time, *, is_done: bool) -> None:
        begun = self._running[machine].pop(unit, None)
        if begun is not None:
            self.by_machine[machine].bars.append(Bar(begun[0], at, begun[1], is_done))

    def _leave(self, machine: int, at: Time, *, is_lost: bool) -> None:
        for unit in list(self._running[machine]):
            self._stop(machine, unit, at, is_done=False)
        lane = self.by_machine[machine]
        if lane.gone is None:
            lane.gone, lane.is_lost = at, is_lost


def few_sorts(lanes: Sequence[Lane]) -> list[Lane]:
    """Return the lanes with no more kinds of bars than there are colours; the rarest by time are merged."""
    times: Counter[str] = Counter()
    for lane in lanes:
        for bar in lane.bars:
            times[bar.what] += bar.end - bar.begin
    if len(times) <= len(_COLOURS):
        return list(lanes)
    kept = {what for what, _ in times.most_common(len(_COLOURS) - 1)}
    return [
        replace(lane, bars=[bar if bar.what in kept else bar._replace(what=OTHERS) for bar in lane.bars])
        for lane in lanes
    ]


def draw_lanes(
    runs: Mapping[str, Sequence[Lane]],
    path: Path,
    title: str = "",
    begin: Time = 0,
    moments: Mapping[str, Time] = NO_MOMENTS,
    prefix: str = "needs ",
) -> None:
    """Draw runs below each other, by title, from a time on, with moments marked; the suffix determines the format."""
    if not any(runs.values()):
        raise ValueError("there are no lanes to draw")
    ends = {name: _end(lanes) for name, lanes in runs.items()}
    end = max([*ends.values(), *moments.values()])
    scale = time_scale(end - begin)
    colours = _colours(runs.values())
    heights = [max(1.2, 0.24 * len(lanes)) if len(lanes) <= FEW else 5.5 for lanes in runs.values()]
    with canvas(path, 11, sum(heights) + 0.75 * len(runs) + 0.9) as figure:
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
        panels = figure.subplots(len(runs), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        for axes, (name, lanes) in zip(panels, runs.items(), strict=True):
            axes.set_title(name)
            axes.set_title(
                f"{_machines(len(lanes))}, {show_duration(ends[name] - begin)}",
                loc="right",
                fontweight="normal",
                fontsize=9,
                color=GREY,
            )
            _draw_run(axes, lanes, begin, end, scale, colours)
            for moment in moments.values():
                axes.axvline(scale(moment - begin), color=RED, linewidth=1.2, linestyle="--")
        scale.apply(panels[-1], 0, round(1.01 * (end - begin)))
        panels[-1].set_xlabel(scale.name)
        _explain(figure, runs, begin, colours, moments, prefix)


def _machines(count: int) -> str:
    return "1 machine" if count == 1 else f"{count:,} machines"


def _draw_run(
    axes: "Axes", lanes: Sequence[Lane], begin: Time, end: Time, scale: TimeScale, colours: Mapping[str, str]
) -> None:
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    axes.set_ylim(len(lanes) - 0.5, -0.5)  # the first on top
    axes.tick_params(axis="y", length=0)
    if len(lanes) <= FEW:
        for place, lane in enumerate(lanes):
            _draw_lane(axes, place, lane, begin, scale, colours)
        axes.set_yticks(range(len(lanes)), [f"{lane.machine + 1}   {lane.kind}" for lane in lanes])
    else:
        picture = _pixels(lanes, begin, end, colours)
        axes.imshow(
            picture,
            aspect="auto",
            interpolation="nearest",
            extent=(0, scale(end - begin), len(lanes) - 0.5, -0.5),
        )
        places = list(_groups(lanes))
        axes.set_yticks([(low + high) / 2 for low, high, _ in places], [kind for *_, kind in places])
        for _, high, _ in places[:-1]:
            axes.axhline(high + 0.5, color=BLACK, linewidth=0.6)
    for place, lane in enumerate(lanes):
        if lane.is_lost and lane.gone is not None:
            size = 60 if len(lanes) <= FEW else 25
            axes.scatter(
                scale(lane.gone - begin), place, marker="x", color=BLACK, s=size, linewidths=2, zorder=4, clip_on=False
            )


def _draw_lane(axes: "Axes", place: int, lane: Lane, begin: Time, scale: TimeScale, colours: Mapping[str, str]) -> None:
    up = lane.up if lane.up is not None else lane.gone
    if up is not None and up > max(lane.acquired, begin):
        since = max(lane.acquired, begin)
        axes.broken_barh(
            [(scale(since - begin), scale(up - since))],
            (place - 0.36, 0.72),
            facecolor="white",
            edgecolor=PALE,
            hatch="//////",
            linewidth=0,
        )
    shown = [bar for bar in lane.bars if bar.end >= begin]
    for what, colour in colours.items():
        spans = [(scale(bar.begin - begin), scale(bar.end - bar.begin)) for bar in shown if bar.what == what]
        if spans:
            axes.broken_barh(spans, (place - 0.36, 0.72), facecolor=colour, linewidth=0)
            starts = [start for start, _ in spans]
            axes.vlines(starts, place - 0.36, place + 0.36, color=_darker(colour), linewidth=0.8)


def _pixels(lanes: Sequence[Lane], begin: Time, end: Time, colours: Mapping[str, str]) -> Any:
    """Return the lanes as rows of pixels, each coloured by what runs in the middle of its period."""
    import numpy as np  # noqa: PLC0415  # comes with matplotlib, an extra
    from matplotlib.colors import to_rgb  # noqa: PLC0415

    step = (end - begin) / PIXELS
    paints = {what: to_rgb(colour) for what, colour in colours.items()}
    boot = to_rgb(PALE)
    picture = np.ones((len(lanes), PIXELS, 3))
    for row, lane in enumerate(lanes):
        up = lane.up if lane.up is not None else lane.gone
        if up is not None:
            first, last = _columns(lane.acquired - begin, up - begin, step)
            picture[row, first:last][(np.arange(first, last) + row) % 6 < 3] = boot
        for bar in lane.bars:
            first, last = _columns(bar.begin - begin, bar.end - begin, step)
            picture[row, first:last] = paints[bar.what]
    return picture


def _columns(begin: float, end: float, step: float) -> tuple[int, int]:
    """Return the pixels whose middle falls into a period."""
    first, last = (min(PIXELS, max(0, round(time / step))) for time in (begin, end))
    return first, last


def _groups(lanes: Sequence[Lane]) -> Iterator[tuple[int, int, str]]:
    """Yield first and last position of the lanes of each kind."""
    place = 0
    for kind, members in groupby(lanes, key=lambda lane: lane.kind):
        count = sum(1 for _ in members)
        yield place, place + count - 1, kind
        place += count


def _end(lanes: Sequence[Lane]) -> Time:
    return max((lane.bars[-1].end if lane.bars else lane.acquired for lane in lanes), default=0)


def _colours(runs: "Sequence[Sequence[Lane]] | Any") -> dict[str, str]:
    """Return a colour for each requirement, the same in all panels."""
    names = sorted({bar.what for lanes in runs for lane in lanes for bar in lane.bars})
    return {name: _COLOURS[place % len(_COLOURS)] for place, name in enumerate(names)}


def _darker(colour: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb  # noqa: PLC0415  # an extra

    red, green, blue = to_rgb(colour)
    return 0.55 * red, 0.55 * green, 0.55 * blue


def _explain(
    figure: "Figure",
    runs: Mapping[str, Sequence[Lane]],
    begin: Time,
    colours: Mapping[str, str],
    moments: Mapping[str, Time],
    prefix: str,
) -> None:
    """Draw one legend for all panels."""
    from matplotlib.lines import Line2D  # noqa: PLC0415  # an extra
    from matplotlib.patches import Patch  # noqa: PLC0415

    lanes = [lane for each in runs.values() for lane in each]
    marks: list[Patch | Line2D] = [Patch(color=colour, label=f"{prefix}{what}") for what, colour in colours.items()]
    if any(lane.up is not None and lane.up > max(lane.acquired, begin) for lane in lanes):
        marks.append(Patch(facecolor="white", edgecolor=PALE, hatch="//////", label="booting"))
    if any(lane.is_lost for lane in lanes):
        marks.append(Line2D([], [], color=BLACK, marker="x", linestyle="", markeredgewidth=2, label="killed"))
    marks += [Line2D([], [], color=RED, linestyle="--", label=name) for name in moments]
    figure.legend(handles=marks, loc="outside lower left", ncols=min(len(marks), 8), columnspacing=1.4)
