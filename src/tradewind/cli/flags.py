"""Commands and groups whose help shows no type for flags, which take no value."""

from typing import Any

from typer.core import TyperCommand, TyperGroup


def _bare(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


class Command(TyperCommand):
    """A command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return arguments and options, including --help."""
        return _bare(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return options, including --help."""
        return _bare(super().get_params(ctx))
