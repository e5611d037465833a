"""Store results in a file, so that a long study can resume after an interruption.

Results are valid only for the code that produced them: the file starts with a digest of the policies and the workload,
and is discarded if the code has changed. Comments and docstrings do not count.
"""

import ast
import json
from collections.abc import Iterator
from dataclasses import asdict
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from tradewind.experiments.scs.experiment import Experiment, Result

_PACKAGES = ("tradewind.policies.deadline", "tradewind.policies.parts", "tradewind.experiments.scs")
_WHAT_IS_RUN = ("settings.py", "workload.py", "others.py", "experiment.py")
"""Experiment modules that results depend on; judging and drawing do not change them."""


class Progress:
    """The results of a study so far."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: dict[str, Result] = {}
        code = digest()
        lines = list(_lines(path))
        if lines and lines[0] == {"code": code}:
            self._found = {line["key"]: Result(**line["result"]) for line in lines[1:]}
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"code": code}) + "\n", encoding="utf-8")

    def of(self, experiment: Experiment) -> Result | None:
        """Return the result of an experiment, if it has been run."""
        return self._found.get(_key(experiment))

    def add(self, experiment: Experiment, result: Result) -> None:
        """Add the result of an experiment."""
        self._found[_key(experiment)] = result
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": _key(experiment), "result": asdict(result)}) + "\n")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the readable lines; the last one may be incomplete after an interruption."""
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                return


def _key(experiment: Experiment) -> str:
    case = asdict(experiment.case)
    return json.dumps([case, experiment.variant.label, experiment.draw, experiment.size, experiment.seed])


def digest() -> str:
    """Return a digest of the code that results depend on."""
    found = sha256()
    for package in _PACKAGES:
        for file in sorted(files(package).iterdir(), key=lambda file: file.name):
            is_run = file.name in _WHAT_IS_RUN or not package.endswith(".scs")
            if file.name.endswith(".py") and is_run:
                found.update(_bare(file.read_text(encoding="utf-8")).encode())
    return found.hexdigest()


def _bare(source: str) -> str:
    """Return a module's code without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                each for each in body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
            ]
    return ast.dump(tree)
