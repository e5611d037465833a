"""The words that run a command: by bash with `-euo pipefail`, or by the shell that a step names.

Where bash is absent `sh -eu` takes its place, and a pipe then fails only if its last command does. A plain command, a
program with words as its arguments, means the same to both. It goes to `sh`, which mostly is dash and starts in half
the time (benchmark `shell`). Others are read from a file where there is one: everybody on a host sees the words of its
processes, and commands may hold secrets.
"""
# pathlib costs more than the calls that it wraps
# ruff: noqa: PTH118

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache

SH = "/bin/sh"
_STRICT = ("-euo", "pipefail")
_EITHER = 'command -v bash > /dev/null 2>&1 && exec bash -euo pipefail %s"$1"; exec sh -eu %s"$1"'
"""Where it is not known yet whether there is a bash: in a container, or at a site."""

_OF_SHELLS = (
    r"\.|alias|bg|bind|break|builtin|caller|case|cd|command|compgen|complete|compopt|continue|coproc|declare|dirs|disown"
    r"|do|done|echo|elif|else|enable|esac|eval|exec|exit|export|fc|fg|fi|for|function|getopts|hash|help|history|if|in"
    r"|jobs|kill|let|local|logout|mapfile|popd|printf|pushd|pwd|read|readarray|readonly|return|select|set|shift|shopt"
    r"|source|suspend|test|then|time|times|trap|type|typeset|ulimit|umask|unalias|unset|until|wait|while"
)
"""Words that a shell understands itself, and not each shell in the same way; `true` and `false` are alike in all."""
_IS_PLAIN = re.compile(
    rf"(?!(?:{_OF_SHELLS})(?:\s|$))[\w./][\w./,:@%+-]*(?: +[\w./,:@%+=-]+)* *\n?", re.ASCII
).fullmatch
_CHANGING = ("BASH_ENV", "BASH_FUNC_")
"""How the names of variables begin that change what bash makes of a plain command."""


def words(
    command: str, shell: Sequence[str] = (), variables: Mapping[str, str] | None = None, file: str = ""
) -> list[str]:
    """The words that run a command on this machine, with some more variables; it may be in a file as well."""
    if not shell and is_plain(command) and not _changed() and not (variables and "BASH_ENV" in variables):
        return [SH, "-c", command]
    return _run(shell or usual(), command, file)


def words_anywhere(command: str, shell: Sequence[str] = (), file: str = "") -> list[str]:
    """The words that run a command where another `PATH` holds; it may be in a file as well."""
    if shell:
        return _run(shell, command, file)
    option = "" if file else "-c "
    return [SH, "-c", _EITHER % (option, option), "sh", file or command]


def _run(shell: Sequence[str], command: str, file: str) -> list[str]:
    if not file:
        return [*shell, "-c", command]
    return [*(shell[:-1] if shell[-1] == "-c" else shell), file]


def is_plain(command: str) -> bool:
    """Whether a command is a program with words as its arguments, so that it needs no shell."""
    return _IS_PLAIN(command) is not None


@cache
def usual() -> tuple[str, ...]:
    """The shell of steps that name none, with its options."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        file = os.path.join(folder, "bash")
        if folder.startswith("/") and os.access(file, os.X_OK):
            return file, *_STRICT
    return SH, "-eu"


@cache
def _changed() -> bool:
    return any(name.startswith(_CHANGING) for name in os.environ)
