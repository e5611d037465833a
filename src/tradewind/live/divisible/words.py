"""Commands of divisible jobs as words, and the files that words name.

A partition runs in a folder of its own. So that `python program.py` finds its program there, a word that names a file
of the folder where the workflow lies, or where the worker of a site was started, stands for that file. That is done
for plain commands only: what a shell makes of anything else is for the shell to say.
"""

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

SHELL = "/bin/sh"
_IS_PLAIN = re.compile(r"[\w./,:@%+= -]+", re.ASCII).fullmatch


def words_of(text: str) -> list[str]:
    """A command: its words where it is plain, else a shell with all of it."""
    words = text.strip().removeprefix("exec ").split()
    is_plain = bool(words) and _IS_PLAIN(text.strip()) and "=" not in words[0]
    return words if is_plain else [SHELL, "-c", text]


def at_home(text: str, homes: Sequence[Path]) -> str:
    """A command for a shell, in which words that name a file of one of the folders are whole paths, if it is plain."""
    words = words_of(text)
    return text if words[0] == SHELL else f"exec {shlex.join(located(words, homes))}\n"


def located(words: Iterable[str], homes: Sequence[Path]) -> list[str]:
    """Words in which those that name a file of one of the folders are whole paths."""
    return [_located(word, homes) for word in words]


def homes() -> list[Path]:
    """Where this process finds modules first: there its files are, too."""
    return [Path(each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]


def _located(word: str, homes: Sequence[Path]) -> str:
    for home in homes if not word.startswith("/") else ():
        try:
            if (home / word).is_file():
                return str(home / word)
        except (OSError, ValueError):
            return word
    return word
