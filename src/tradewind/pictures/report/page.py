"""The page of a report: everything in one self-contained file."""

from collections.abc import Callable
from html import escape
from importlib.resources import files

import orjson

from tradewind.pictures.report import tables
from tradewind.pictures.report.account import Account, Source
from tradewind.pictures.report.chart import chart, colour
from tradewind.pictures.report.graph import graph

_LEGEND = 16
"""Maximum number of steps in the legend of the chart; all are in the table."""

_CHART = """<div class="tools"><button data-zoom="0.5">zoom in</button><button data-zoom="2">out</button>
<button data-zoom="0">all</button><input id="find" type="search" placeholder="find a task" aria-label="find a task">
<span class="hint" id="found"></span></div>
<p class="hint">Drag to zoom into a period, with Shift to move; double-click to show all; Ctrl and wheel also zoom.
Behind the bars, a stripe shows that a machine is held, and another shade that it is booting.</p>
<div id="chart"><canvas></canvas><div id="band"></div><div id="tip"></div></div>"""


def page(account: Account) -> bytes:
    """Return a report as HTML."""
    title = escape(account.source.title)
    sections = [(name, anchor, show(account)) for name, anchor, show in _SECTIONS]
    links = "".join(f'<a href="#{anchor}">{name.lower()}</a>' for name, anchor, _ in sections)
    body = "".join(f'<section id="{anchor}"><h2>{name}</h2>{text}</section>' for name, anchor, text in sections)
    # A slash that could end the element is the only thing in JSON that is not safe in HTML.
    data = orjson.dumps(chart(account)).replace(b"</", b"<\\/").replace(b"<!--", b"<\\u0021--")
    head = (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_asset("page.css")}</style></head><body>'
        f'<h1>{title}</h1><p class="sub">{tables.subtitle(account)}</p><nav>{links}</nav>{tables.summary(account)}'
    )
    text = head + body + '<script type="application/json" id="data">'
    end = f"</script><script>{_asset('page.js')}</script></body></html>\n"
    return text.encode() + data + end.encode()


def _gantt(account: Account) -> str:
    shown = list(account.steps)[:_LEGEND]
    keys = "".join(
        f'<span><i style="background:{colour(at)}"></i>{escape(name)}</span>' for at, name in enumerate(shown)
    )
    more = f"<span>and {len(account.steps) - _LEGEND:,} more</span>" if len(account.steps) > _LEGEND else ""
    failed = '<span><i style="background:var(--bad)"></i>not successful</span>'
    return f'{_CHART}<div class="key">{keys}{more}{failed}</div>'


def _graph(account: Account) -> str:
    picture = graph(account)
    if not picture:
        return f"<p>{_no_graph(account.source)}</p>"
    return f'<p class="hint">Steps with a red edge are on the critical path.</p><div class="scroll">{picture}</div>'


def _no_graph(source: Source) -> str:
    if source.document is not None:
        return "No step waited for another one."
    if source.is_real:
        return "A server knows dependencies only for workflows with <code>tasks</code>."
    return "A log contains no dependencies: give the workflow with <code>--workflow</code>."


def _costs(account: Account) -> str:
    key = "".join(
        f'<span><i class="{name}"></i>{words}</span>'
        for name, words in (
            ("useful", "useful"),
            ("repeated", "spent on unsuccessful attempts"),
            ("booting", "booting"),
            ("idle", "idle"),
        )
    )
    return f'<div class="key">{key}</div>{tables.types(account)}'


def _words(show: Callable[[Account], str]) -> Callable[[Account], str]:
    return lambda account: f'<div class="words">{show(account)}</div>'


_SECTIONS: tuple[tuple[str, str, Callable[[Account], str]], ...] = (
    ("Machines over time", "time", _gantt),
    ("Graph", "graph", _graph),
    ("Steps", "steps", tables.steps),
    ("Machine types", "types", _costs),
    ("Critical path", "path", _words(tables.path)),
    ("What waited for what", "waits", _words(tables.waits)),
    ("Failures", "failures", _words(tables.failures)),
)


def _asset(name: str) -> str:
    return files("tradewind.pictures.report").joinpath(name).read_text(encoding="utf-8")
