"""Work on an agent: chains with files in and out, functions, failures."""

import sys
from pathlib import Path

import httpx
from agent_rig import World, eventually

CHAIN = """
params:
  text: {type: file, default: none.txt}
steps:
  sort:
    run: "sort {{ params.text }} > sorted.txt; echo sorting"
    outputs: {all: sorted.txt, said: stdout}
  split:
    run: "mkdir -p parts; split -l 1 {{ sort.all }} parts/x"
    outputs: {parts: {path: "parts/*", many: true}}
  count:
    for_each: split.parts
    as: part
    steps:
      one:
        run: "cat {{ part }}; echo ${PWD:1}"
        outputs: {said: stdout}
    outputs: {said: "{{ one.said }}"}
  join:
    run: "cat {{ split.parts }} > all.txt"
    outputs: {all: all.txt}
outputs: {all: "{{ join.all }}", said: "{{ sort.said }}", each: "{{ count.said }}"}
"""


def test_a_chain_of_commands_gets_its_files_and_leaves_them_on_the_server(world: World) -> None:
    agent = world.agent(slots=2)
    run = world.submit(CHAIN, uploads={"text": b"b\na\n"})
    outputs = world.outputs(run)
    assert outputs["said"] == "sorting"
    assert [text.split("\n")[0] for text in outputs["each"]] == ["a", "b"]
    assert all(str(agent.folder)[1:] in text for text in outputs["each"]), "it ran there"
    assert outputs["all"].startswith(str(world.folder / ".tradewind/runs"))
    assert Path(outputs["all"]).read_text() == "a\nb\n"
    tasks = world.ask("GET", f"/runs/{run}/tasks")["items"]
    assert tasks
    log = httpx.get(
        f"{world.server.url}/api/v1/runs/{run}/tasks/{tasks[0]['number']}/attempts/1/logs",
        headers={"Authorization": f"Bearer {world.server.token}"},
    ).json()
    assert {"out"} <= {each["name"].rpartition("/")[2] for each in log["items"]}
    eventually(lambda: not list((agent.folder / "work/orders").iterdir()))
    assert not [each for each in (agent.folder / "work/runs").rglob("*") if each.is_file()], "nothing is left there"


def test_a_function_is_found_where_the_agent_was_started(world: World) -> None:
    agent = world.agent()
    (agent.folder / "sums.py").write_text("def add(a, b):\n    open('note', 'w').write('x')\n    return a + b\n")
    run = world.submit(
        "steps:\n  add:\n    python: sums:add\n    inputs: {a: 2, b: 3}\n"
        "    outputs: {value: return, note: note}\noutputs: {value: '{{ add.value }}', note: '{{ add.note }}'}\n"
    )
    outputs = world.outputs(run)
    assert outputs["value"] == 5
    assert Path(outputs["note"]).read_text() == "x"


def test_a_failure_is_told_with_its_log(world: World) -> None:
    world.agent()
    run = world.submit("steps:\n  bad: {run: 'echo so it goes >&2; exit 3'}\n")
    assert world.ended(run)["status"] == "failed"
    assert world.ask("GET", f"/runs/{run}/attempts")["items"][0]["reason"] == "exit code 3"
    assert "so it goes" in next(world.folder.glob(".tradewind/runs/*/bad.1/err")).read_text()


def test_large_files_travel_both_ways(world: World) -> None:
    world.agent(slots=1)
    run = world.submit(
        'steps:\n  make:\n    run: \'head -c 3000000 /dev/urandom > "big file"; sha256sum < "big file"\'\n'
        "    outputs: {big: 'big file', sum: stdout}\n"
        "  check:\n    run: 'sha256sum < {{ make.big }}'\n    needs: [gap]\n    outputs: {sum: stdout}\n"
        "  gap: {run: 'true', needs: [make]}\n"
        "outputs: {a: '{{ make.sum }}', b: '{{ check.sum }}'}\n"
    )
    outputs = world.outputs(run)
    assert outputs["a"] == outputs["b"] != ""


def test_an_agent_is_listed_while_it_is_there(world: World) -> None:
    agent = world.agent("gpu-box", "--provides", "gpu", "--cpus", "2", "--memory", "1G", slots=2)
    (row,) = eventually(lambda: world.ask("GET", "/agents")["items"])
    assert (row["agent"], row["slots"], row["capabilities"]) == ("gpu-box", 2, ["gpu"])
    assert row["amounts"] == {"cpus": 2, "memory": 1_000_000_000}
    assert agent.end() == 0
    assert eventually(lambda: world.ask("GET", "/agents")["items"] == [])
    assert world.ask("GET", "/machines")["items"] == []


SQUARES = """
import tradewind
with tradewind.iterations() as it:
    for chunk in it:
        it.deliver(sum(n * n for n in chunk))
"""
DIVISIBLE = f"""
steps:
  squares:
    divisible: {{iterations: 20000, run: {sys.executable} squares.py, reduce: sum, partitions: 2}}
    outputs: {{total: return}}
outputs: {{total: "{{{{ squares.total }}}}"}}
"""


def test_shares_of_a_divisible_step_run_on_an_agent_and_report_by_themselves(world: World) -> None:
    agent = world.agent(slots=2)
    (agent.folder / "squares.py").write_text(SQUARES)
    assert world.outputs(world.submit(DIVISIBLE))["total"] == sum(n * n for n in range(20_000))


def test_an_agent_with_a_command_of_its_own_runs_nothing_else(world: World) -> None:
    agent = world.agent("desk", "--", sys.executable, "mine.py", slots=2)
    (agent.folder / "mine.py").write_text(SQUARES.replace("n * n", "1"))
    (agent.folder / "squares.py").write_text("raise SystemExit('not this')")
    assert world.outputs(world.submit(DIVISIBLE))["total"] == 20_000, "it is the agent's own program"
    refused = world.submit(f"steps:\n  a: {{run: 'touch {world.folder}/touched'}}\n")
    assert world.ended(refused)["status"] == "failed"
    assert "its own command" in world.ask("GET", f"/runs/{refused}/attempts")["items"][0]["reason"]
    assert not (world.folder / "touched").exists()
