"""Commands and groups whose help names no type behind flags: a flag takes no value."""

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
        """Arguments and options, the one for help included."""
        return _bare(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Options, the one for help included."""
        return _bare(super().get_params(ctx))
