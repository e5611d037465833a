"""Claims of a paper, our results and the verdicts, in one form for every paper.

A claim that does not hold is a finding, not an error: `reproduce` reports it and gives the reason in one line.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import orjson
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

_TOO_SMALL = "Too little was run to tell."
_ROOM = 110
"""Table columns needed to be readable."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a paper and our result for it."""

    id: str
    claim: str
    paper: str
    """The paper's figure, in a few words."""
    ours: str
    holds: bool | None
    """None: not judged, because too little was run."""
    note: str = ""
    """Reason for a difference, in one line."""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a reproduction reports, as plain data."""

    paper: str
    seed: int
    claims: Sequence[Claim]
    notes: Sequence[str] = ()
    """Findings beyond the paper's claims and omissions, a sentence or two each."""

    def plain(self) -> dict[str, Any]:
        """Return the report as written to files."""
        return {
            "paper": self.paper,
            "seed": self.seed,
            "claims": [asdict(claim) for claim in self.claims],
            "notes": list(self.notes),
        }


def write_report(report: Report, path: Path) -> None:
    """Write a report as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(orjson.dumps(report.plain(), option=orjson.OPT_INDENT_2) + b"\n")


def print_report(report: Report, console: Console) -> None:
    """Print the claims, as a table if it fits, followed by the notes."""
    if console.width >= _ROOM:
        console.print(claims_table(report.claims))
    else:
        for claim in report.claims:
            console.print(_paragraph(claim))
    judged = [claim for claim in report.claims if claim.holds is not None]
    console.print(Text(f"{sum(map(_holds, judged))} of {len(judged)} claims hold.", style="bold"))
    if left := [claim.id for claim in report.claims if claim.holds is None]:
        console.print(
            Text(f"Not judged with --quick: {', '.join(left)}; run without --quick to judge them.", style="bold")
        )
    for note in report.notes:
        console.print(Text(f"\n{note}"))


def not_judged(claims: Sequence[Claim], ids: Collection[str]) -> list[Claim]:
    """Return the claims, without verdicts on those that a quick run is too small to judge."""
    return [replace(claim, holds=None, note=_TOO_SMALL) if claim.id in ids else claim for claim in claims]


def claims_table(claims: Sequence[Claim]) -> Table:
    """Return a table of claims and our results."""
    table = Table(box=box.SIMPLE, show_lines=True, pad_edge=False)
    table.add_column("#")
    table.add_column("claim", ratio=5)
    table.add_column("paper", ratio=3)
    table.add_column("ours", ratio=5)
    table.add_column("holds")
    table.add_column("note", ratio=6)
    for claim in claims:
        texts = (Text(text) for text in (claim.claim, claim.paper, claim.ours))
        table.add_row(claim.id, *texts, _verdict(claim), Text(claim.note))
    return table


def _holds(claim: Claim) -> bool:
    return claim.holds is True


def _verdict(claim: Claim) -> Text:
    if claim.holds is None:
        return Text("not judged with --quick", style="dim")
    return Text("yes", style="green") if claim.holds else Text("no", style="bold red")


def _paragraph(claim: Claim) -> Text:
    """Return a claim as lines of text, for narrow screens."""
    lines = [f"{claim.id}. {claim.claim}", f"   paper: {claim.paper}", f"   ours:  {claim.ours}", "   holds: "]
    note = f"\n   {claim.note}" if claim.note else ""
    return Text("\n".join(lines)).append_text(_verdict(claim)).append(f"{note}\n")
