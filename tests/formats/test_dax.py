"""Pegasus DAX of versions 2 and 3."""

import pytest
from paperwork import Write

from tradewind.formats import FormatError, load, load_workflow
from tradewind.model.units import SECOND
from tradewind.model.workflow import File

VERSION_2 = """\
<?xml version="1.0" encoding="UTF-8"?>
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" name="test">
  <job id="ID01" namespace="Montage" name="mDiffFit" runtime="13.39">
    <uses file="fit.txt" link="output" size="5"/>
  </job>
  <job id="ID02" namespace="Montage" name="mDiffFit" runtime="0">
    <uses file="fit.txt" link="output" size="7"/>
  </job>
  <job id="ID03" name="mConcatFit">
    <argument>-a  top <filename file="fit.txt"/></argument>
    <uses file="fit.txt" link="input" size="1"/>
    <uses file="other.txt" link="input" size="2"/>
    <uses file="both.txt" link="inout"/>
  </job>
  <child ref="ID03"><parent ref="ID01"/><parent ref="ID02"/></child>
</adag>
"""

VERSION_3 = """\
<p:adag xmlns:p="http://pegasus.isi.edu/schema/DAX" version="3.6" name="diamond">
  <p:file name="f.a"><p:pfn url="file:///f.a" site="local"/></p:file>
  <p:job id="a" name="pre">
    <p:profile namespace="pegasus" key="runtime">60</p:profile>
    <p:profile namespace="env" key="X">1</p:profile>
    <p:argument>-i <p:file name="f.a"/></p:argument>
    <p:uses name="f.a" link="input"/>
    <p:uses name="script" link="none"/>
  </p:job>
</p:adag>
"""


def test_reads_version_2_and_finds_the_writers_of_inputs_among_the_parents(write: Write) -> None:
    document = load(write("Montage_3.xml", VERSION_2))
    workflow = load_workflow("Montage_3.xml")
    assert document.content == workflow
    assert workflow.name == "Montage_3"
    first, second, third = workflow.tasks
    assert (first.runtime, second.runtime, third.runtime) == (13_390_000, 1000, None)
    assert third.inputs == (File("fit.txt", 5), File("fit.txt", 7), File("other.txt", 2), File("both.txt"))
    assert third.outputs == (File("both.txt"),)
    assert third.command == "mConcatFit -a top fit.txt"
    assert workflow.parents == ((), (), (0, 1))
    assert document.line_of("ID03") == 9


def test_reads_version_3_with_namespaces_and_run_times_in_profiles(write: Write) -> None:
    workflow = load_workflow(write("d.dax", VERSION_3))
    (task,) = workflow.tasks
    assert workflow.name == "diamond"
    assert (task.name, task.runtime, task.command) == ("pre", 60 * SECOND, "pre -i f.a")
    assert task.inputs == (File("f.a"),)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "the workflow has no tasks"),
        ("<job name='x'/>", "a name must not be empty"),
        ("<job id='a'><uses link='input'/></job>", r"a\.uses: a name must not be empty"),
        ("<job id='a'><uses file='f' link='up'/></job>", "unknown link 'up'"),
        ("<job id='a'><uses file='f' link='input' size='1e99'/></job>", r"a\.size: '1e99' is too large"),
        ("<job id='a' runtime='nan'/>", "'nan' is too large"),
        ("<job id='a' runtime='inf'/>", "'inf' is too large"),
        ("<job id='a'><argument>&#x85;&#x7f;</argument></job>", "must not contain control characters"),
        ("<dax id='a' file='b'/>", "the element 'dax' contains another workflow"),
        (
            "<job id='a'/><job id='b'/>"
            + "".join(f"<child ref='{one}'><parent ref='{other}'/></child>" for one, other in ("ab", "ba")),
            "tasks wait for each other",
        ),
        ("<x>" * 100 + "</x>" * 100, "elements are nested more than 64 deep"),
    ],
)
def test_refuses_what_is_no_workflow(write: Write, body: str, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        load(write("d.xml", f"<adag>{body}</adag>"))


def test_refuses_a_name_with_control_characters(write: Write) -> None:
    with pytest.raises(FormatError, match="control characters"):
        load(write("d.xml", "<adag name='a&#x85;b'><job id='a'/></adag>"))


def test_fetches_nothing(write: Write) -> None:
    write("secret.txt", "secret")
    text = '<!DOCTYPE adag SYSTEM "secret.txt"><adag><job id="a"/></adag>'
    assert len(load_workflow(write("d.xml", text)).tasks) == 1
    bomb = '<!DOCTYPE adag [<!ENTITY x SYSTEM "secret.txt">]><adag>&x;</adag>'
    with pytest.raises(FormatError, match="declares the entity 'x'"):
        load(write("d.xml", bomb))
