"""Words by which runs and tasks are found, each with a letter that says where it comes from.

`w` any word of an entry, `n` of its name, `e` of an error, `c` of a capability, `s` its status, `t` its tenant, `r` its
run's number, `a` every entry. The same words go into every database, so that what one finds the others find too.
"""

import unicodedata
from collections.abc import Iterable, Iterator

ANY, NAME, ERROR, CAPABILITY, STATUS, TENANT, RUN = "w", "n", "e", "c", "s", "t", "r"
EVERY = "a"

_LONGEST = 60
_MOST = 300
"""Words of one entry."""


def split(text: str) -> Iterator[str]:
    """The words of a text: letters and digits, without case, in their simplest form."""
    word = ""
    for letter in unicodedata.normalize("NFKC", text).casefold():
        if letter.isalnum():
            word += letter
        elif word:
            yield word[:_LONGEST]
            word = ""
    if word:
        yield word[:_LONGEST]


def exact(letter: str, text: str) -> str:
    """One word that stands for a whole text."""
    return f"{letter}:{text.encode('utf-8', 'replace').hex()}"


def entry(
    run: int,
    tenant: str,
    name: str,
    *,
    error: str = "",
    capabilities: Iterable[str] = (),
    status: str = "",
    more: str = "",
) -> list[str]:
    """All words of an entry, each once."""
    found: dict[str, None] = {EVERY: None, exact(TENANT, tenant): None, f"{RUN}:{run}": None}
    if status:
        found[f"{STATUS}:{status}"] = None
    for letter, text in ((NAME, name), (CAPABILITY, " ".join(capabilities)), (ERROR, error), ("", more)):
        for word in split(text):
            if len(found) >= _MOST:
                break
            found[f"{ANY}:{word}"] = None
            if letter:
                found[f"{letter}:{word}"] = None
    return list(found)
