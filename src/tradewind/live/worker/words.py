"""Commands of divisible jobs as words, and where their programs are.

A partition runs in a folder of its own. So that `python program.py` finds its program there, that word stands for the
file in the folder where the workflow lies, or where the worker of a site was started. That is done for plain commands
only: what a shell makes of anything else is for the shell to say.
"""

import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from tradewind.live.worker import shells

HOMES = "TRADEWIND_HOMES"
"""The variable with the folders in which programs are looked for."""


def words_of(text: str, shell: Sequence[str] = ()) -> list[str]:
    """A command: its words where it is plain, else a shell with all of it."""
    return _plain(text).split() or shells.words_anywhere(text, shell)


def at_home(text: str, folders: Sequence[Path]) -> str:
    """A command for a shell; if it is plain, with the whole path of its program, if one of the folders has it."""
    words = _plain(text).split()
    if not words:
        return text
    place = _place_of_program(words)
    words[place : place + 1] = located(words[place : place + 1], folders)
    return f"exec {shlex.join(words)}\n"


def located(words: Iterable[str], folders: Sequence[Path]) -> list[str]:
    """Words in which those that name a file of one of the folders are whole paths."""
    return [_located(word, folders) for word in words]


def homes() -> list[Path]:
    """The folders in which this process looks for programs."""
    return [Path(each) for each in os.environ.get(HOMES, "").split(os.pathsep) if each]


def _plain(text: str) -> str:
    """A command that needs no shell; empty if it does."""
    command = text.strip().removeprefix("exec ").strip()
    return command if shells.is_plain(command) else ""


def _place_of_program(words: Sequence[str]) -> int:
    """Of the first word, if that is a path from somewhere; else of the first one after it that is no option."""
    if "/" in words[0] and not words[0].startswith("/"):
        return 0
    return next((place for place, word in enumerate(words) if place and not word.startswith("-")), len(words))


def _located(word: str, folders: Sequence[Path]) -> str:
    for folder in folders if not word.startswith("/") else ():
        try:
            if (folder / word).is_file():
                return str(folder / word)
        except (OSError, ValueError):
            return word
    return word
