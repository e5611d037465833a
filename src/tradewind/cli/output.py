"""What commands print: tables for people, JSON and YAML for programs; colours only on a terminal."""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, NoReturn

import orjson
import typer

from tradewind.cli import giving
from tradewind.cli.places import Form
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
    """Whether it is shown only where there is room."""
    is_number: bool = False


def field(name: str, title: str = "", *, is_wide: bool = False, is_number: bool = False) -> Column:
    """A column that shows a value as it is."""
    return Column(title or name, lambda row: _text(row.get(name)), is_wide, is_number)


def show(rows: Sequence[Plain], columns: Sequence[Column], form: Form, *, whole: Any = None) -> None:
    """Print rows; for programs the whole answer, where that is more than the rows."""
    if form in (Form.JSON, Form.YAML):
        show_plain(rows if whole is None else whole, form)
        return
    shown = [column for column in columns if form is Form.WIDE or not column.is_wide]
    cells = [[column.value(row) for column in shown] for row in rows]
    widths = [max([len(column.title), *(len(row[at]) for row in cells)]) for at, column in enumerate(shown)]
    typer.echo(paint(_line([column.title.upper() for column in shown], shown, widths), dim=True))
    for row in cells:
        typer.echo(_line(row, shown, widths, coloured=True))


def show_plain(value: Any, form: Form) -> None:
    """Print a value for a program, or for people who read YAML."""
    if form is Form.JSON:
        typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
        return
    import yaml  # noqa: PLC0415 - slow

    typer.echo(yaml.safe_dump(value, sort_keys=False, allow_unicode=True), nl=False)


def show_one(row: Plain, form: Form) -> None:
    """Print one thing, field by field."""
    if form in (Form.JSON, Form.YAML):
        show_plain(row, form)
        return
    width = max(len(name) for name in row)
    for name, value in row.items():
        if value is not None and value != "" and value != [] and value != {}:
            typer.echo(f"{paint(name.ljust(width), dim=True)}  {_coloured(_text(value))}")


def show_secret(made: Plain, form: Form) -> None:
    """Print a token that was just made: alone, so that it can be put into a file, unless more is asked for."""
    if form in (Form.JSON, Form.YAML):
        show_plain(made, form)
    else:
        typer.echo(made["token"])


def _line(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int], *, coloured: bool = False) -> str:
    padded = []
    for cell, column, width in zip(cells, columns, widths, strict=True):
        room = " " * (width - len(cell))
        text = _coloured(cell) if coloured else cell
        padded.append(room + text if column.is_number else text + room)
    return "  ".join(padded).rstrip()


def _coloured(text: str) -> str:
    colour = _COLOURS.get(text)
    return paint(text, fg=colour) if colour else text


def paint(text: str, **style: Any) -> str:
    """Text in a colour, unless the user wants none; where it goes into a file or pipe, colours are taken out again."""
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
"""How people say it of a run or task; of others, that it is so."""


def stands(each: Plain) -> str:
    """How a run or task stands, in words."""
    status = each["status"]
    return _STANDS.get(status, f"is {status}")


def show_failures(run: Plain, *, err: bool = False) -> None:
    """Tell why a run has failed."""
    if run.get("reason"):
        typer.echo(paint(run["reason"], fg="red"), err=err)
    for failure in run.get("failures", ()):
        typer.echo(paint(f"{failure['name']} (attempt {failure['attempt']}): {failure['reason']}", fg="red"), err=err)


def show_outputs(outputs: Plain) -> None:
    """Tell what a run gives."""
    if outputs:
        typer.echo(paint("outputs", dim=True))
    for line in giving.lines(outputs):
        typer.echo(f"  {line}")


def refuse(reason: str, code: int) -> NoReturn:
    """Tell why a command does nothing, and end it so."""
    typer.echo(f"error: {reason}", err=True)
    raise typer.Exit(code)


def when(at: float | None) -> str:
    """A time as people in this place read it."""
    return "" if at is None else datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def duration(length: float | None) -> str:
    """Seconds, to what matters."""
    return "" if length is None else show_duration(seconds(length))
