"""The expression language: what it computes, what it refuses, and that it stays small."""

import json
import string
import time
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tradewind.model.action import Derived, Json, Ref
from tradewind.model.expression import (
    ExpressionError,
    MissingError,
    Outputs,
    Reference,
    fill,
    parse,
    references,
    resolve,
    template,
)
from tradewind.model.values import Evaluation

DEEP: Json = json.loads("[" * 60 + "]" * 60)
NAMES: dict[str, Json] = {
    "a": {"bam": "/x/y.sorted.bam", "n": 3, "list": [1, 2, 3], "deep": {"er": [{"k": "v"}]}},
    "item": "s 1",
    "deepest": DEEP,
    "flag": False,
    "gone": Outputs(),
}


def lookup(name: str) -> Json:
    if name not in NAMES:
        raise ExpressionError(f"nothing is named {name!r}")
    return NAMES[name]


def value(text: str) -> Json:
    return parse(text).evaluate(Evaluation(lookup))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1 + 2 * 3 - 4 // 2", 5),
        ("7 / 2", 3.5),
        ("7 % 4", 3),
        ("-a.n", -3),
        ("'a' + \"b\"", "ab"),
        ("[1] + [2, [3]]", [1, 2, [3]]),
        ("(1, 2)", [1, 2]),
        ("[0] * 3", [0, 0, 0]),
        ("{'x': a.n}", {"x": 3}),
        ("a.deep.er[0].k", "v"),
        ("a['deep']['er'][0]['k']", "v"),
        ("a.list[-1]", 3),
        ("a.list[1:]", [2, 3]),
        ("item[:1]", "s"),
        ("1 < 2 <= 2 != 3", True),
        ("'k' in a.deep.er[0] and 9 not in a.list", True),
        ("not flag or nothing", True),
        ("flag and nothing", False),
        ("'yes' if flag else 'no'", "no"),
        ("true and not false and null == None", True),
        ("len(a.list) + len(item)", 6),
        ("range(2, 8, 3)", [2, 5]),
        ("str(1.5) + str(true) + str([1, 'a'])", '1.5true[1, "a"]'),
        ("int('12') + float('0.5')", 12.5),
        ("min(3, 1) + max(a.list) + sum([1, 2.5])", 7.5),
        ("sorted([3, 1, 2])", [1, 2, 3]),
        ("basename(a.bam)", "y.sorted.bam"),
        ("stem(a.bam)", "y.sorted"),
        ("split('a,b', ',')", ["a", "b"]),
        ("join(a.list, '+')", "1+2+3"),
        ("zip([1, 2], ['a', 'b'])", [[1, "a"], [2, "b"]]),
        ("default(gone.bam, a.nothing, null, 'else')", "else"),
        ("default(a.n, 7)", 3),
    ],
)
def test_computes(text: str, wanted: Json) -> None:
    found = value(text)
    assert (found, type(found)) == (wanted, type(wanted))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1 +", "not an expression"),
        ("a.x", "no field 'x'; there are bam, deep, list, n"),
        ("a.list[7]", "no item 7; there are 3"),
        ("a.list.x", "items are taken by number"),
        ("nothing", "nothing is named 'nothing'"),
        ("2 ** 3", "unsupported operator"),
        ("1 << 9", "unsupported operator"),
        ("lambda: 1", "Lambda is not part of the language"),
        ("[x for x in a.list]", "ListComp is not part"),
        ("f'{a}'", "JoinedStr is not part"),
        ("(x := 1)", "NamedExpr is not part"),
        ("a.list is None", "use =="),
        ("item.upper()", "no methods"),
        ("open('x')", "no function named 'open'; use one of"),
        ("len(a, a)", "takes 1 argument, not 2"),
        ("range(*a.list)", "plain arguments"),
        ("'a' + 1", "cannot compute text + a number"),
        ("'%s' % 1", "cannot compute text % a number"),
        ("true + 1", "cannot compute true or false"),
        ("1 < 'a'", "not supported between"),
        ("1 / 0", "division by zero"),
        ("1 in 5", "cannot look into a number"),
        ("[0] * 10000000", "more than 1,000,000 items"),
        ("'x' * 10000000", "more than 1,000,000 items"),
        ("range(10000000)", "more than 1,000,000"),
        ("9223372036854775807 + 1", "too large"),
        ("1e308 * 10", "not finite"),
        ("99999999999999999999", "too large"),
        ("1e999", "not a value of the language"),
        ("1j", "not a value of the language"),
        ("b'x'", "not a value of the language"),
        ("min([])", "empty list"),
        ("sum(['a'])", "list of numbers"),
        ("zip([1], [])", "different lengths"),
        ("{1: 2}", "must be text in quotes"),
        ("sorted([1, 'a'])", "not supported"),
        ("int('x')", "invalid literal"),
        ("int('" + "9" * 50 + "')", "too long"),
        ("len(5)", "len() of a number"),
        ("[1, 2][::2]", "like x[1:3]"),
        ("(" * 70 + "1" + ")" * 70 + "+" + "-" * 70 + "1", "deep"),
        ("'" + "x" * 10_001 + "'", "more than 10,000 characters"),
        ("'\\ud800'", "not valid Unicode"),
        ("len(str(['a' * 1000000] * 1000000)) > 3", "more than 1,000,000 items"),
        ("str([['a' * 1000000] * 50] * 50)", "more than 1,000,000 items"),
        (" + ".join(["len(split('a ' * 400000))"] * 20), "takes too long"),
        (" + ".join(["len(sorted(range(900000)))"] * 9), "takes too long"),
        (" and ".join(["range(900000) == range(900000)"] * 9), "takes too long"),
        ("zip(" + ", ".join(["range(900000)"] * 9) + ")", "takes too long"),
        ("[" * 50 + "deepest" + "]" * 50, "nested more than 100 levels"),
    ],
)
def test_refuses(text: str, reason: str) -> None:
    with pytest.raises(ExpressionError) as error:
        value(text)
    assert reason in str(error.value)


@pytest.mark.parametrize("text", ["item.__class__", "a.__class__.__mro__", "a.list.__len__", "item['__class__']"])
def test_reaches_no_python_attribute(text: str) -> None:
    with pytest.raises(ExpressionError):
        value(text)


def test_an_output_of_a_skipped_step_is_missing_unless_it_is_not_touched() -> None:
    with pytest.raises(MissingError):
        value("gone.bam")
    assert value("1 if true else gone.bam") == 1


@pytest.mark.parametrize(
    "text", ["([0] * 1000000) * 1000000", "[[0] * 1000] * 10000", "'x' * 999999 * 999999", "range(999999) * 9"]
)
def test_what_would_grow_is_refused_before_it_is_made(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(ExpressionError):
        value(text)
    assert time.process_time() - begun < 2


@given(st.text(string.printable, max_size=40))
@example("\0")
@example("(" * 5000)
@example("-" * 5000 + "1")
def test_any_text_has_a_value_or_a_reason(text: str) -> None:
    with suppress(ExpressionError, MissingError):
        json.dumps(value(text), allow_nan=False)


def test_knows_what_it_looks_up() -> None:
    found = parse("a.b[0].c + f.g[x.y] + len(steps['s-t'].u) + (1 if true else z)").references
    assert [str(reference) for reference in found] == ["a.b[0].c", "f.g", "x.y", "steps.s-t.u", "z"]
    assert parse("a.b").pick == Reference("a", ("b",))
    assert parse("a.b + 1").pick is None
    assert list(references({"x": ["{{ a }} {{ b.c }}", 1]})) == [Reference("a"), Reference("b", ("c",))]


# Templates


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{{ a.list }}", [1, 2, 3]),
        ("  {{ a.n }}\n", 3),
        ("n={{ a.n }}", "n=3"),
        ("{{ a.n }}{{ flag }}", "3false"),
        ("no expression", "no expression"),
        ("{{ {'x': {'y': 1}} }}", {"x": {"y": 1}}),
        ("{{ '}}' }}", "}}"),
        ("{{ '{{' }}x", "{{x"),
        ('{{ "\\"}}" + \'{\' }}!', '"}}{!'),
        ("{{ null }}.", "."),
    ],
)
def test_fills_templates(text: str, wanted: Json) -> None:
    assert fill(text, lookup) == wanted
    assert fill({"k": [text]}, lookup) == {"k": [wanted]}


def test_an_expression_without_end_is_told_with_a_remedy() -> None:
    with pytest.raises(ExpressionError, match=r"has no end '}}'.*\{\{ '\{\{' \}\}"):
        template("docker ps --format {{ .Names }")


def test_resolves_what_earlier_calls_leave() -> None:
    given = {
        "a": [Ref("x", "out", ("k", 0)), 1],
        "b": Derived("{{ y.n + 1 }} {{ x }}", {"y": {"n": Ref("x", "n")}, "x": "t"}),
    }
    assert resolve(given, {"x": {"out": {"k": ["v"]}, "n": 4}}) == {"a": ["v", 1], "b": "5 t"}
    with pytest.raises(ExpressionError):
        resolve(Ref("x", "nothing"), {"x": {}})


@pytest.mark.parametrize(
    "value",
    [
        ["{{ deepest }}", ["{{ [deepest] }}"]],
        ["{{ 'x' * 1000000 }}"] * 100,
        " ".join(["{{ 'x' * 1000000 }}"] * 100),
        {str(key): "{{ range(900000) }}" for key in range(9)},
    ],
)
def test_what_templates_build_together_is_bounded_too(value: Json) -> None:
    outer = value
    if "deepest" in str(value):
        for _ in range(50):
            outer = [outer]
    tracemalloc.start()
    try:
        with pytest.raises(ExpressionError, match="more than"):
            fill(outer, lookup)
        assert tracemalloc.get_traced_memory()[1] < 300_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("count", [1_000, 400_000])
def test_the_keys_of_a_mapping_count_as_much_as_its_values(count: int) -> None:
    with pytest.raises(ExpressionError, match="more than"):
        fill(f"{{{{ len(str([n] * {count})) }}}}", {"n": {"x" * 1_000_000: 1}}.__getitem__)


@pytest.mark.parametrize("text", [r"{{ {'\ud800': 1} }}", r"{{ ['\udfff'] }}"])
def test_text_in_an_expression_is_valid_unicode(text: str) -> None:
    with pytest.raises(ExpressionError, match="Unicode"):
        fill(text, NAMES.__getitem__)
