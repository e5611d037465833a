"""Print results: tables for people, JSON and YAML for programs; colours only on a terminal."""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, NoReturn

import orjson
import typer

from tradewind.cli import giving
from tradewind.cli.places import Form
from tradewind.cli.terminal import cell, visible
from tradewind.model.units import seconds, show_duration

Plain = Mapping[str, Any]

_COLOURS = {
    "done": "green",
    "failed": "red",
    "lost": "red",
    "error": "red",
    "cancelled": "yellow",
    "suspended": "yellow",
    "interrupted": "yellow",
    "active": "cyan",
    "running": "cyan",
    "busy": "cyan",
}


class Column(NamedTuple):
    """A column of a table."""

    title: str
    value: Callable[[Plain], str]
    is_wide: bool = False
    """Whether it is shown only in wide tables."""
    is_number: bool = False


def field(name: str, title: str = "", *, is_wide: bool = False, is_number: bool = False) -> Column:
    """Return a column that shows a field as it is."""
    return Column(title or name, lambda row: _text(row.get(name)), is_wide, is_number)


def show(rows: Sequence[Plain], columns: Sequence[Column], form: Form, *, whole: Any = None) -> None:
    """Print rows; for programs, print the whole answer if it contains more than the rows."""
    if form in (Form.JSON, Form.YAML):
        show_plain(rows if whole is None else whole, form)
        return
    shown = [column for column in columns if form is Form.WIDE or not column.is_wide]
    cells = [[cell(column.value(row)) for column in shown] for row in rows]
    widths = [max([len(column.title), *(len(row[at]) for row in cells)]) for at, column in enumerate(shown)]
    typer.echo(paint(_line([column.title.upper() for column in shown], shown, widths), dim=True))
    for row in cells:
        typer.echo(_line(row, shown, widths, coloured=True))


def show_plain(value: Any, form: Form) -> None:
    """Print a value as JSON or YAML."""
    if form is Form.JSON:
        typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
        return
    import yaml  # noqa: PLC0415 - slow

    typer.echo(yaml.safe_dump(value, sort_keys=False, allow_unicode=True), nl=False)


def show_one(row: Plain, form: Form) -> None:
    """Print one object, field by field."""
    if form in (Form.JSON, Form.YAML):
        show_plain(row, form)
        return
    width = max(len(name) for name in row)
    for name, value in row.items():
        if value is not None and value != "" and value != [] and value != {}:
            typer.echo(f"{paint(name.ljust(width), dim=True)}  {_coloured(cell(_text(value)))}")


def show_secret(made: Plain, form: Form) -> None:
    """Print a new token, alone so that it can be redirected to a file, unless another format is requested."""
    if form in (Form.JSON, Form.YAML):
        show_plain(made, form)
    else:
        typer.echo(made["token"])


def _line(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int], *, coloured: bool = False) -> str:
    padded = []
    for each, column, width in zip(cells, columns, widths, strict=True):
        room = " " * (width - len(each))
        text = _coloured(each) if coloured else each
        padded.append(room + text if column.is_number else text + room)
    return "  ".join(padded).rstrip()


def _coloured(text: str) -> str:
    colour = _COLOURS.get(text)
    return paint(text, fg=colour) if colour else text


def paint(text: str, **style: Any) -> str:
    """Return coloured text, unless the user disabled colours; output to files and pipes is stripped of them later."""
    return text if os.environ.get("NO_COLOR") else typer.style(text, **style)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_text(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return str(value)


_STANDS = {"failed": "has failed", "cancelled": "was cancelled", "interrupted": "was interrupted"}
"""Phrases for the status of a run or task; for other statuses, `is` and the status."""


def stands(each: Plain) -> str:
    """Describe the status of a run or task in words."""
    status = each["status"]
    return _STANDS.get(status, f"is {status}")


def show_failures(run: Plain, *, err: bool = False) -> None:
    """Print why a run has failed."""
    if run.get("reason"):
        typer.echo(paint(visible(run["reason"]), fg="red"), err=err)
    for failure in run.get("failures", ()):
        words = visible(f"{failure['name']} (attempt {failure['attempt']}): {failure['reason']}")
        typer.echo(paint(words, fg="red"), err=err)


def show_outputs(outputs: Plain) -> None:
    """Print the outputs of a run."""
    if outputs:
        typer.echo(paint("outputs", dim=True))
    for line in giving.lines(outputs):
        typer.echo(f"  {visible(line)}")


def refuse(reason: str, code: int) -> NoReturn:
    """Print the reason for refusing a command, and exit with a code."""
    typer.echo(f"error: {visible(reason)}", err=True)
    raise typer.Exit(code)


def when(at: float | None) -> str:
    """Format a time in the local time zone."""
    return "" if at is None else datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def duration(length: float | None) -> str:
    """Format seconds with the relevant precision."""
    return "" if length is None else show_duration(seconds(length))
