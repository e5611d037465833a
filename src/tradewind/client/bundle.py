"""Build the request for a submission: the document as in its file, with the files it includes."""

import re
import uuid
from base64 import b64encode
from pathlib import Path
from typing import Any

import yaml

from tradewind.client.backend import Submission
from tradewind.client.errors import ClientError
from tradewind.formats.errors import FormatError, quoted
from tradewind.formats.present import check_present, files_included, files_of
from tradewind.model.parameters import ParameterError, bind
from tradewind.model.program import Program
from tradewind.model.units import show_size

_GZIP = b"\x1f\x8b"
_INCLUDE = "include"
LARGEST_UPLOAD = 180 << 20
"""Maximum size of an uploaded file in bytes; servers may accept less, and say so."""
_LONGEST = 200
"""Maximum length of a name that servers accept."""


def request(submission: Submission) -> dict[str, Any]:
    """Return the request body: JSON with the document's text, or a compressed document as it is."""
    headers = {"Idempotency-Key": submission.key or uuid.uuid4().hex}
    data = _read(submission.file)
    if data.startswith(_GZIP):
        given = {key: value for key, value in _options(submission).items() if value is not None}
        return {
            "content": data,
            "headers": headers | {"Content-Type": "application/octet-stream"},
            "params": given | {"parameter": [f"{name}={value}" for name, value in submission.parameters.items()]},
        }
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ClientError(f"{submission.file} is not text") from None
    body: dict[str, Any] = {"workflow": text}
    if files := _included(submission.file, text) | _services(submission.file, text):
        body["files"] = files
    parameters = dict(submission.parameters)
    if submission.uploads and (uploads := _uploads(submission)):
        body["uploads"] = uploads
        parameters = {name: value for name, value in parameters.items() if name not in uploads}
    if parameters:
        body["parameters"] = parameters
    body |= {key: value for key, value in _options(submission).items() if value is not None}
    return {"json": body, "headers": headers}


def _uploads(submission: Submission) -> dict[str, Any]:
    """Return the files named by parameters, by parameter; one that is missing or cannot be uploaded is an error."""
    text = submission.file.read_text()
    if "file" not in text and _INCLUDE not in text:
        return {}
    from tradewind.formats.load import load  # noqa: PLC0415 - slow

    try:
        program = load(submission.file).content
        if not isinstance(program, Program):
            return {}
        values = bind(program, submission.parameters, folder=str(Path.cwd()))
    except (FormatError, ParameterError):
        return {}  # the server reports the error with its place
    check_present(program, values, file=str(submission.file))
    for place, path in files_included(program, program.steps):
        step = quoted(str(place[1]))
        raise ClientError(
            f"{submission.file}: step {step} includes a program that reads {path} by default, and that file does not"
            f" go along; pass it in the inputs of {step}, from a parameter of type `file`"
        )
    return {name: _upload(name, Path(path)) for name, path in files_of(program, values)}


def _upload(name: str, path: Path) -> dict[str, str]:
    if path.is_dir():
        raise ClientError(
            f"the parameter {name!r} is the folder {path}; only files are uploaded: pack it into an archive"
        )
    if path.stat().st_size > LARGEST_UPLOAD:
        size = show_size(LARGEST_UPLOAD)
        remedy = f"put it where the server can read it, and pass that path with -p {name}=PATH --remote-files"
        raise ClientError(f"{path} is too large to upload (at most {size}); {remedy}")
    return {"name": path.name, "data": b64encode(path.read_bytes()).decode()}


def _options(submission: Submission) -> dict[str, Any]:
    return {
        "name": submission.name,
        "file": re.sub(r"[\x00-\x1f\x7f]", "?", submission.file.name)[-_LONGEST:],
        "priority": submission.priority,
        "deadline": submission.deadline,
        "tenant": submission.tenant,
        "keep_going": submission.keep_going or None,
        "cache": None if submission.uses_cache else False,
    }


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except IsADirectoryError:
        raise ClientError(f"{file} is a folder, not a workflow") from None


def _services(file: Path, text: str) -> dict[str, str]:
    """Return the texts of the services and macros next to a Steep workflow."""
    if "api" not in text or "actions" not in text:
        return {}
    from tradewind.formats.steep_services import files_of_services  # noqa: PLC0415 - seldom needed

    return {str(path.relative_to(file.parent)): path.read_text() for path in files_of_services(file.parent, None)}


def _included(file: Path, text: str) -> dict[str, str]:
    """Return the texts of all files that a program includes, by their paths relative to its folder."""
    if _INCLUDE not in text:
        return {}
    root = file.parent
    found: dict[str, str] = {}
    waiting = [(file, text)]
    while waiting:
        path, content = waiting.pop()
        for name in _names(content):
            target = path.parent / name
            key = str(target.relative_to(root)) if target.is_relative_to(root) else str(target)
            if key not in found and target.is_file():
                found[key] = target.read_text()
                waiting.append((target, found[key]))
    return found


def _names(text: str) -> list[str]:
    try:
        waiting: list[Any] = [yaml.safe_load(text)]
    except yaml.YAMLError:
        return []  # the server reports the error with its place
    names = []
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get(_INCLUDE), str):
                names.append(value[_INCLUDE])
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return names
