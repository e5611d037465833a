"""Commands with values filled in: nothing that a value holds is ever more than a word to the shell."""

import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tradewind.model.action import Json
from tradewind.model.expression import ExpressionError, render_command

NASTY = [
    "a b",
    "'",
    '"',
    "$HOME",
    "$(touch x)",
    "`id`",
    "\\",
    "a\nb",
    "*",
    "~",
    "-n",
    ";",
    "#",
    "!",
    "",
    "é",
    "\\'",
    "x'\"$y",
]
texts = st.one_of(st.sampled_from(NASTY), st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8))


def ran(command: str, **inputs: Json) -> str:
    script = render_command(command, inputs)
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True, env={"HOME": "/home"})
    return done.stdout


@settings(max_examples=60)
@given(texts)
@example("'; echo injected; '")
@example('"; echo injected; "')
@example("$(echo injected)")
def test_a_value_comes_out_as_it_went_in_wherever_it_stands(text: str) -> None:
    script = """
printf '%s|' {{ v }} "{{ v }}" '{{ v }}' a{{ v }} "$(printf '%s.' "{{ v }}" {{ v }} '{{ v }}')" # {{ v }}
printf '%s|' "${X:-"{{ v }}"}" # don't
printf '%s|' $(printf %s done) "it's" {{ v }}
"""
    assert ran(script, v=text) == f"{text}|{text}|{text}|a{text}|{text}.{text}.{text}.|{text}|done|it's|{text}|"


@settings(max_examples=30)
@given(texts)
def test_here_documents_hold_values_too(text: str) -> None:
    script = "cat <<EOF; cat <<'END' ; printf %s {{ v }}\nx {{ v }} $HOME\nEOF\ny {{ v }} $HOME\nEND\n"
    assert ran(script, v=text) == f"x {text} /home\ny {text} $HOME\n{text}"


def test_a_list_becomes_words_and_nothing_becomes_nothing() -> None:
    assert (
        render_command("x {{ a }} {{ b }} {{ c }} {{ d }}", {"a": ["p q", 1], "b": [], "c": None, "d": ""})
        == "x 'p q' 1   ''"
    )
    assert render_command('x "{{ a }}"', {"a": ["p q", True]}) == 'x "p q true"'
    assert render_command("x {{a}}", {"a": {"k": 1}}) == "x '{\"k\": 1}'"


def test_a_command_without_names_stays_as_it_is() -> None:
    assert render_command("echo '{x}' ${Y}", {}) == "echo '{x}' ${Y}"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("x {{ y }}", "uses the input 'y'"),
        ("x {{ v.z }}", "is not the name of an input"),
        ("x `echo {{ v }}`", r"use \$"),
        ("x $'{{ v }}'", "cannot stand inside"),
        ("cat <<E\n{{ e }}\nE\n", "would end the here-document"),
        ("x {{ zero }}", "null character"),
    ],
)
def test_what_cannot_be_quoted_is_refused(command: str, reason: str) -> None:
    with pytest.raises(ExpressionError, match=reason):
        render_command(command, {"v": 1, "e": "a\nE\nb", "zero": "a\0b"})
