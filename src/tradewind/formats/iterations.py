"""Build the program for a job that is nothing but iterations, from what `tradewind submit --iterations` is given.

The job becomes a program with one divisible step, so that it is a run like any other: it can be listed, watched,
explained, cancelled and billed by the commands that exist for runs.
"""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

STEP = "iterate"
RESULT = "result"


@dataclass(frozen=True, slots=True)
class Iterations:
    """A divisible job as the command line describes it; a field that is empty is left to its default."""

    iterations: int
    words: tuple[str, ...]
    """The command. Words after the first that name local files stand for these files, which are sent along."""
    name: str = ""
    reduce: str = ""
    """`concatenate` or `sum`."""
    reduce_run: str = ""
    """A command that reduces the results."""
    reduce_python: str = ""
    """A function, as `module:function`, that reduces the results."""
    within: str = ""
    """Target time; the deadline of the run counts too."""
    shares: int | None = None
    """At the start."""
    max_shares: int | None = None
    balancer: str = ""
    input: Path | None = None
    """A file that every share gets."""


def program_text(job: Iterations) -> str:
    """Return the job as a native program."""
    files = _files(job)
    command = " ".join(f"{{{{ {files[word]} }}}}" if word in files else shlex.quote(word) for word in job.words)
    divisible: dict[str, Any] = {"iterations": job.iterations, "run": command}
    fields = {"within": job.within, "partitions": job.shares, "most": job.max_shares, "balancer": job.balancer}
    divisible |= {field: value for field, value in fields.items() if value}
    if reduce := _reduce(job):
        divisible["reduce"] = reduce
    step: dict[str, Any] = {"divisible": divisible, "outputs": {RESULT: RESULT}}
    document: dict[str, Any] = {"name": job.name or STEP}
    given = {name: Path(word) for word, name in files.items()}
    if job.input is not None:
        given["input"] = job.input
    if given:
        document["params"] = {name: {"type": "file", "default": str(path.absolute())} for name, path in given.items()}
        step["inputs"] = {name: f"{{{{ params.{name} }}}}" for name in given}
    document |= {"steps": {STEP: step}, "outputs": {RESULT: f"{{{{ {STEP}.{RESULT} }}}}"}}
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def _files(job: Iterations) -> dict[str, str]:
    """Return the words of the command that name files, each with the parameter that stands for it."""
    found = [word for word in dict.fromkeys(job.words[1:]) if Path(word).is_file()]
    return {word: f"file{number}" for number, word in enumerate(found, 1)}


def _reduce(job: Iterations) -> Any:
    if job.reduce_run:
        return {"run": job.reduce_run}
    return {"python": job.reduce_python} if job.reduce_python else job.reduce
