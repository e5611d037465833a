"""What a paper claims, what we find, and whether the claim holds here; the same for every paper.

A claim that does not hold is a finding, not an error: `reproduce` reports it and says why in one line.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

_ROOM = 110
"""Columns that the table needs to be readable."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim of a paper beside our own figure."""

    id: str
    claim: str
    paper: str
    """The paper's figure, in a few words."""
    ours: str
    holds: bool
    note: str = ""
    """Where ours differs, why, in a line."""


@dataclass(frozen=True, slots=True)
class Report:
    """All that a reproduction has to say; plain data."""

    paper: str
    seed: int
    claims: Sequence[Claim]
    notes: Sequence[str] = ()
    """What goes beyond the paper's claims, or was left out, a sentence or two each."""

    def plain(self) -> dict[str, Any]:
        """The report as it is written to files."""
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
    """Print the claims, as a table where there is room for one, and the notes below."""
    if console.width >= _ROOM:
        console.print(claims_table(report.claims))
    else:
        for claim in report.claims:
            console.print(_paragraph(claim))
    held = sum(claim.holds for claim in report.claims)
    console.print(Text(f"{held} of {len(report.claims)} claims hold here.", style="bold"))
    for note in report.notes:
        console.print(Text(f"\n{note}"))


def claims_table(claims: Sequence[Claim]) -> Table:
    """Claims side by side with our figures."""
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


def _verdict(claim: Claim) -> Text:
    return Text("yes", style="green") if claim.holds else Text("no", style="bold red")


def _paragraph(claim: Claim) -> Text:
    """A claim in lines, for narrow screens."""
    lines = [f"{claim.id}. {claim.claim}", f"   paper: {claim.paper}", f"   ours:  {claim.ours}", "   holds: "]
    note = f"\n   {claim.note}" if claim.note else ""
    return Text("\n".join(lines)).append_text(_verdict(claim)).append(f"{note}\n")
