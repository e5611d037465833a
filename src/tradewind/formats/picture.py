"""Draw workflows as self-contained SVG, legible from one task to a hundred thousand.

A small workflow is drawn task by task. A large one is drawn by kind: all tasks with the same name on one level become
one box whose height reflects their number, and lines are as thick as the edges they stand for. If that is still too
much, levels are merged into bands and rare names into one box.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import log2
from unicodedata import east_asian_width

from tradewind.formats.errors import short
from tradewind.formats.layers import Layout, arrange_layers
from tradewind.model.units import show_duration
from tradewind.model.workflow import Workflow, edges

MOST_BOXES = 150
"""Maximum number of tasks drawn individually."""
_MOST_GROUPS = 160
_BANDS = 30
_NAMES_IN_BAND = 7
_OTHER = "other"

_HUES = ("#3f74bf", "#d9822b", "#3f9a5f", "#c8504b", "#7d5fb2", "#2b97a3", "#a0764c", "#c7659c", "#87902f", "#64748b")
_LIGHT, _DARK = "#ffffff", "#12161d"
_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
_MARGIN = 28.0
_HEAD = 72.0
_GAP = 10.0
_BETWEEN = 64.0
_LEGEND_ROW = 24.0
_LONGEST_LABEL = 30
_LONGEST_NAME = 22
_MOST_IN_LEGEND = 24


@dataclass(frozen=True, slots=True)
class _Box:
    level: int
    name: str
    label: str
    note: str
    tip: str
    count: int = 1

    @property
    def width(self) -> float:
        return max(54.0, _width(self.label, 6.9), _width(self.note, 5.9)) + 24

    @property
    def height(self) -> float:
        return 26.0 if self.count == 1 and not self.note else 40.0 + 9.0 * log2(self.count)


def svg(workflow: Workflow, *, group: bool | None = None) -> str:
    """Draw a workflow; large ones are drawn by kind of task, unless `group` says otherwise."""
    by_kind = len(workflow.tasks) > MOST_BOXES if group is None else group
    boxes, lines = _groups(workflow) if by_kind else _tasks(workflow)
    layout = arrange_layers([box.level for box in boxes], [box.height for box in boxes], lines, _GAP)
    counts: Counter[str] = Counter()
    for box in boxes:
        counts[box.name] += box.count
    return _draw(workflow, boxes, layout, counts)


def _tasks(workflow: Workflow) -> tuple[list[_Box], dict[tuple[int, int], int]]:
    """Return one box per task."""
    boxes = []
    for task, level in zip(workflow.tasks, workflow.levels(), strict=True):
        known = task.id.startswith(task.name)
        label = _shortened(task.id if known else f"{_tail(task.name)} {task.id}")
        tip = task.id if task.runtime is None else f"{task.id}: {show_duration(task.runtime)}"
        boxes.append(_Box(level, task.name, label, "", f"{tip}\n{task.name}"))
    return boxes, dict.fromkeys(edges(workflow), 1)


def _groups(workflow: Workflow) -> tuple[list[_Box], dict[tuple[int, int], int]]:
    """Return one box for all tasks with the same name on one level."""
    levels = workflow.levels()
    keys = [(level, task.name) for level, task in zip(levels, workflow.tasks, strict=True)]
    if len(set(keys)) > _MOST_GROUPS:
        keys = _banded(keys, max(levels) + 1)
    members: dict[tuple[int, str], list[int]] = defaultdict(list)
    for index, key in enumerate(keys):
        members[key].append(index)
    number = {key: at for at, key in enumerate(members)}
    boxes = [_group(workflow, level, name, tasks) for (level, name), tasks in members.items()]
    lines: Counter[tuple[int, int]] = Counter(
        (number[keys[parent]], number[keys[child]])
        for parent, child in edges(workflow)
        if keys[parent][0] < keys[child][0]  # edges within a band are not drawn
    )
    return boxes, dict(lines)


def _banded(keys: Sequence[tuple[int, str]], levels: int) -> list[tuple[int, str]]:
    """Merge levels into bands, and in each band keep only the most frequent names separate."""
    bands = min(_BANDS, levels)
    banded = [(level * bands // levels, name) for level, name in keys]
    frequent: dict[int, Counter[str]] = defaultdict(Counter)
    for band, name in banded:
        frequent[band][name] += 1
    kept = {band: {name for name, _ in names.most_common(_NAMES_IN_BAND)} for band, names in frequent.items()}
    return [(band, name if name in kept[band] else _OTHER) for band, name in banded]


def _group(workflow: Workflow, level: int, name: str, tasks: Sequence[int]) -> _Box:
    times = [time for time in (workflow.tasks[task].runtime for task in tasks) if time is not None]
    mean = show_duration(sum(times) // len(times)) if times else ""
    label = _times(name, len(tasks))
    note = f"{mean} each" if mean and len(tasks) > 1 else mean
    return _Box(level, name, label, note, f"{name}: {len(tasks):,} tasks{', ' + note if note else ''}", len(tasks))


def _draw(
    workflow: Workflow,
    boxes: Sequence[_Box],
    layout: Layout,
    counts: Mapping[str, int],
) -> str:
    colour = {name: f"c{at % len(_HUES)}" for at, name in enumerate(counts)}
    widths = [max((boxes[i].width for i in layer if i < len(boxes)), default=20.0) for layer in layout.layers]
    lefts = [_MARGIN + sum(widths[:at]) + _BETWEEN * at for at in range(len(widths))]
    legend = _legend(counts, colour)
    total_width = max(lefts[-1] + widths[-1] + _MARGIN if widths else 0, 460.0)
    legend_rows, legend_marks = _flow_legend(legend, total_width)
    total_height = _HEAD + layout.height + _MARGIN + legend_rows * _LEGEND_ROW + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total_width:.0f} {total_height:.0f}"',
        f'width="{total_width:.0f}" height="{total_height:.0f}" role="img" font-family="{_FONTS}">',
        f"<title>{escape(short(workflow.name, 200))}</title>",
        f"<style>{_style()}</style>",
        '<rect class="page" width="100%" height="100%"/>',
        f'<text class="head" x="{_MARGIN:.0f}" y="34">{escape(short(workflow.name))}</text>',
        f'<text class="note" x="{_MARGIN:.0f}" y="52">{escape(_summary(workflow))}</text>',
    ]
    parts.append('<g class="lines">')
    parts.extend(_hop(layout, hop, weight, lefts, widths, len(boxes)) for hop, weight in layout.hops.items())
    parts.append("</g>")
    parts.extend(_box(box, layout.nodes[at].y + _HEAD, lefts, widths, colour) for at, box in enumerate(boxes))
    parts.append(f'<g transform="translate(0 {total_height - _MARGIN - (legend_rows - 1) * _LEGEND_ROW:.0f})">')
    parts.extend(legend_marks)
    parts.append("</g></svg>\n")
    return "\n".join(parts)


def _box(box: _Box, y: float, lefts: Sequence[float], widths: Sequence[float], colour: Mapping[str, str]) -> str:
    left, width = lefts[box.level], widths[box.level]
    middle = left + width / 2
    text = f'<text class="label" x="{middle:.1f}" y="{y + (-3 if box.note else 4):.1f}">{escape(box.label)}</text>'
    if box.note:
        text += f'<text class="note mid" x="{middle:.1f}" y="{y + 13:.1f}">{escape(box.note)}</text>'
    return (
        f"<g><title>{escape(short(box.tip, 300))}</title>"
        f'<rect class="box {colour[box.name]}" x="{left:.1f}" y="{y - box.height / 2:.1f}" '
        f'width="{width:.1f}" height="{box.height:.1f}" rx="7"/>{text}</g>'
    )


def _hop(
    layout: Layout, hop: tuple[int, int], weight: int, lefts: Sequence[float], widths: Sequence[float], boxes: int
) -> str:
    """Return a curve from the right of a box or waypoint to the left of the next box, or through the next waypoint."""
    start, end = (layout.nodes[index] for index in hop)
    x, y = lefts[start.layer] + widths[start.layer], start.y + _HEAD
    to_x, to_y = lefts[end.layer], end.y + _HEAD
    bend = (to_x - x) * 0.5
    path = f"M{x:.1f} {y:.1f}C{x + bend:.1f} {y:.1f} {to_x - bend:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
    if hop[1] >= boxes:
        path += f"H{to_x + widths[end.layer]:.1f}"
    tip = f"<title>{weight:,} edges</title>" if weight > 1 else ""
    return f'<path d="{path}" stroke-width="{min(1.2 + 0.7 * log2(weight), 9):.1f}">{tip}</path>'


def _legend(counts: Mapping[str, int], colour: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return colour and label of each name; if there are too many, the most frequent names."""
    shown = list(counts)
    if len(shown) > _MOST_IN_LEGEND:
        shown = sorted(shown, key=lambda name: (-counts[name], name))[:_MOST_IN_LEGEND]
    legend = [(colour[name], _times(name, counts[name])) for name in shown]
    if len(counts) > len(shown):
        legend.append(("", f"and {len(counts) - len(shown):,} more names"))
    return legend


def _flow_legend(legend: Sequence[tuple[str, str]], width: float) -> tuple[int, list[str]]:
    """Return the number of rows of a legend, and its marks."""
    marks = []
    x, row = _MARGIN, 0
    for hue, words in legend:
        room = 18 + _width(words, 7.0) + 20
        if x + room > width - _MARGIN and x > _MARGIN:
            x, row = _MARGIN, row + 1
        y = row * _LEGEND_ROW
        if hue:
            marks.append(f'<rect class="box {hue}" x="{x:.1f}" y="{y - 10:.1f}" width="12" height="12" rx="3"/>')
        marks.append(f'<text class="key" x="{x + 18:.1f}" y="{y:.1f}">{escape(words)}</text>')
        x += room
    return row + 1, marks


def _times(name: str, count: int) -> str:
    """Return a name with its count."""
    label = _shortened(_tail(name))
    return f"{label} \N{MULTIPLICATION SIGN}{count:,}" if count > 1 else label


def _summary(workflow: Workflow) -> str:
    tasks, count = len(workflow.tasks), sum(map(len, workflow.parents))
    levels = max(workflow.levels(), default=-1) + 1
    work = sum(task.runtime or 0 for task in workflow.tasks)
    words = [f"{tasks:,} task{'s'[: tasks != 1]}", f"{count:,} edge{'s'[: count != 1]}", f"{levels:,} levels"]
    return " · ".join([*words, f"{show_duration(work)} of work"] if work else words)


def _style() -> str:
    rules = [
        f".page{{fill:{_LIGHT}}}",
        ".head{font-size:17px;font-weight:600;fill:#17202c}",
        ".note{font-size:11px;fill:#5b6675}",
        ".label{font-size:12px;fill:#17202c;text-anchor:middle}",
        ".mid{text-anchor:middle}",
        ".key{font-size:12px;fill:#3b4553}",
        ".lines{fill:none;stroke:#7b8794;stroke-opacity:.42;stroke-linecap:butt}",
        ".box{stroke-width:1.3}",
    ]
    dark = [
        f".page{{fill:{_DARK}}}",
        ".head,.label{fill:#e8edf3}",
        ".note{fill:#97a3b3}",
        ".key{fill:#c3ccd8}",
        ".lines{stroke:#8795a8;stroke-opacity:.45}",
    ]
    for at, hue in enumerate(_HUES):
        rules.append(f".c{at}{{fill:{_mix(hue, _LIGHT, 0.16)};stroke:{hue}}}")
        dark.append(f".c{at}{{fill:{_mix(hue, _DARK, 0.30)};stroke:{_mix(hue, _LIGHT, 0.78)}}}")
    return "".join(rules) + "@media(prefers-color-scheme:dark){" + "".join(dark) + "}"


def _mix(hue: str, ground: str, share: float) -> str:
    """Mix a share of a hue into a background colour."""
    pairs = [(int(hue[at : at + 2], 16), int(ground[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(share * one + (1 - share) * other):02x}" for one, other in pairs)


def _width(text: str, letter: float) -> float:
    """Estimate the width of text: wide letters count twice, capitals slightly more than small letters."""
    return letter * sum(2 if east_asian_width(c) in "WF" else 1.22 if c.isupper() or c in "mw" else 1 for c in text)


def _tail(name: str) -> str:
    """Return the last part of a name such as `NFCORE.RNASEQ.STAR_ALIGN`, if it is too long to show."""
    return name if len(name) <= _LONGEST_NAME else name.rpartition(".")[2] or name


def _shortened(text: str) -> str:
    return short(text, _LONGEST_LABEL)
