"""Draw the graph of steps as SVG: one box per step, with lines from its predecessors."""

from collections.abc import Mapping
from html import escape
from math import log2

from tradewind.formats.layers import arrange_layers
from tradewind.pictures.report.account import Account, Step
from tradewind.pictures.report.chart import colour
from tradewind.pictures.report.tables import show_time

MOST = 80
"""Maximum number of steps drawn; those with the least work are left out."""
_WIDE = 2200.0
"""Wider pictures are scrolled instead of shrunk."""
_LEAST = 900.0
"""Minimum width in pixels: narrower screens, such as phones, scroll."""
_WIDTH, _HEIGHT, _BETWEEN, _GAP, _MARGIN = 168.0, 46.0, 56.0, 14.0, 6.0


def graph(account: Account) -> str:
    """Draw the steps; return nothing if their dependencies are unknown."""
    steps = sorted(account.steps.values(), key=lambda step: -step.busy)[:MOST]
    order = {name: at for at, name in enumerate(account.steps)}
    steps.sort(key=lambda step: order[step.name])
    number = {step.name: at for at, step in enumerate(steps)}
    lines = {
        (number[parent], number[child]): max(count, 1)
        for (parent, child), count in sorted(account.edges.items())
        if parent in number
        and child in number
        and number[parent] < number[child]  # steps may form cycles: draw only forward edges
    }
    if not lines:
        return ""
    levels = [0] * len(steps)
    for parent, child in sorted(lines):
        levels[child] = max(levels[child], levels[parent] + 1)
    layout = arrange_layers(levels, [_HEIGHT] * len(steps), lines, _GAP)
    width = _MARGIN * 2 + (max(levels) + 1) * _WIDTH + max(levels) * _BETWEEN
    height = layout.height + 2 * _MARGIN
    wide = " wide" if width > _WIDE else ""
    least = min(width, _LEAST)
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" style="min-width:{least:.0f}px"'
    parts = [f'<svg class="graph{wide}" {size} role="img">', '<g class="lines">']
    left = [_MARGIN + level * (_WIDTH + _BETWEEN) for level in range(max(levels) + 1)]
    for (start, end), weight in layout.hops.items():
        one, other = layout.nodes[start], layout.nodes[end]
        x, y = left[one.layer] + _WIDTH, one.y + _MARGIN
        to_x, to_y = left[other.layer], other.y + _MARGIN
        curve = f"M{x:.0f} {y:.1f}C{x + 28:.0f} {y:.1f} {to_x - 28:.0f} {to_y:.1f} {to_x:.0f} {to_y:.1f}"
        curve += f"H{to_x + _WIDTH:.0f}" if end >= len(steps) else ""
        parts.append(f'<path d="{curve}" stroke-width="{min(1.2 + 0.5 * log2(weight), 7):.1f}"/>')
    parts.append("</g>")
    critical = _on_the_path(account)
    for at, step in enumerate(steps):
        parts.append(_box(step, left[levels[at]], layout.nodes[at].y + _MARGIN, colour(order[step.name]), critical))
    parts.append("</svg>")
    return "".join(parts)


def _on_the_path(account: Account) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for link in account.path:
        found[link.unit.kind] = found.get(link.unit.kind, 0) + link.length
    return found


def _box(step: Step, left: float, y: float, hue: str, critical: Mapping[str, int]) -> str:
    mean = step.busy // step.attempts if step.attempts else 0
    note = f"{step.units:,} \N{MULTIPLICATION SIGN} {show_time(mean)}" if step.units > 1 else show_time(mean)
    tip = f"{step.name}: {step.units:,} tasks, {show_time(step.busy)} of work"
    if step.name in critical:
        tip += f", {show_time(critical[step.name])} of it on the critical path"
    failed = step.failed
    share = step.done / step.units if step.units else 0
    mark = f'<tspan class="bad"> {failed:,} failed</tspan>' if failed else ""
    top = y - _HEIGHT / 2
    return (
        f"<g><title>{escape(tip)}</title>"
        f'<rect class="box{" critical" if step.name in critical else ""}" x="{left:.0f}" y="{top:.1f}" '
        f'width="{_WIDTH:.0f}" height="{_HEIGHT:.0f}" rx="6"/>'
        f'<rect x="{left:.0f}" y="{top:.1f}" width="5" height="{_HEIGHT:.0f}" rx="2" fill="{hue}"/>'
        f'<rect x="{left + 14:.0f}" y="{y + 17:.1f}" width="{(_WIDTH - 24) * share:.1f}" height="2" fill="{hue}"/>'
        f'<text x="{left + 14:.0f}" y="{y - 5:.1f}" class="name">{escape(shortened(step.name))}</text>'
        f'<text x="{left + 14:.0f}" y="{y + 11:.1f}" class="note">{escape(note)}{mark}</text></g>'
    )


def shortened(text: str, most: int = 22) -> str:
    """Shorten text to fit into a box; its end is more informative than its middle."""
    return text if len(text) <= most else f"{text[: most // 2 - 1]}…{text[-(most // 2) :]}"
