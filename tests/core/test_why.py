"""Why a unit waits."""

from collections.abc import Iterator

import pytest
from worlds import Bench, minutely, task, workflow

from tradewind.core.why import Cause, Reason, UnfinishedError, ensure_ended, stuck, why
from tradewind.core.work import Need
from tradewind.model.event import Failed, Finished, MachineReady, MachineUnwanted, TenantChanged, Timer
from tradewind.model.requirement import Requirement
from tradewind.model.tenant import Tenant
from tradewind.model.units import SECOND, UNIT
from tradewind.model.workflow import Retry
from tradewind.policies.protocol import Place, Policy, Scaling, Unit, View

GPU = Requirement(frozenset({"gpu"}))


class Idle:
    on_arrival = False

    def scale(self, view: View) -> Iterator[Scaling]:
        return iter(())

    def rank(self, unit: Unit) -> int:
        return 0

    def place(self, view: View) -> Iterator[Place]:
        return iter(())


def ask(bench: Bench, unit: int) -> Reason:
    return why(bench.state, bench.state.units[unit])


def test_it_waits_for_its_parents() -> None:
    bench = Bench([minutely()])
    parents: list[list[int]] = [[] for _ in range(7)]
    bench.submit(0, workflow(*[task(f"p{i}") for i in range(7)], task("child"), parents=[*parents, list(range(7))]))
    reason = ask(bench, 7)
    assert reason.cause is Cause.PARENTS
    assert reason.text == "waits for p0, p1, p2, p3, p4 and 2 more"


def test_it_waits_for_a_decision_then_a_boot_then_for_others() -> None:
    bench = Bench([minutely(limit=1)])
    bench.submit(10, workflow(task("a"), task("b", retry=Retry(2, delay=9 * SECOND))))
    assert ask(bench, 0).cause is Cause.DECISION
    assert "no machine is held yet" in ask(bench, 0).text
    bench.tell(Timer, 60)
    bench.core.handle(Timer(65 * SECOND, 9))
    reason = ask(bench, 0)
    assert (reason.cause, reason.until) == (Cause.BOOTING, 60 * SECOND)
    assert reason.text == "machine 0 (small) has been booting for 5s"
    bench.tell(MachineReady, 66, 0)
    bench.core.handle(Timer(70 * SECOND, 9))
    assert ask(bench, 0) == Reason(Cause.RUNNING, "runs on machine 0 (small) for 4s")
    reason = ask(bench, 1)
    assert reason.cause is Cause.BUSY
    assert "all 1 machines that could take it are busy" in reason.text
    bench.tell(Finished, 71, 0, 1, 0)
    bench.tell(Failed, 72, 1, 1, 0, "oops")
    assert ask(bench, 1) == Reason(Cause.RETRY, "has failed 1 times and will be tried again")


def test_there_are_no_more_machines_to_be_had() -> None:
    tenants = [Tenant("ann"), Tenant("bob")]
    bench = Bench([minutely(limit=1)], tenants=tenants)
    bench.submit(0, workflow(task()), "ann")
    bench.tell(Timer, 0)
    bench.submit(1, workflow(task()), "bob")
    reason = ask(bench, 1)
    assert (reason.cause, reason.text) == (Cause.LIMIT, "all 1 machines that may be rented are")


def test_the_budget_is_spent() -> None:
    gpu = minutely("gpu", price=2, capabilities=frozenset({"gpu"}))
    bench = Bench([minutely(price=3), gpu], tenants=[Tenant("default", 4 * UNIT)])
    bench.submit(0, workflow(task("a", needs=GPU)))
    bench.tell(Timer, 0)
    bench.tell(MachineReady, 0, 0)
    bench.tell(TenantChanged, 1, Tenant("default", 3 * UNIT))
    bench.submit(1, workflow(task("b", needs=GPU)))
    reason = ask(bench, 1)
    assert reason.cause is Cause.BUSY
    assert reason.text.endswith("are busy; 1 of the budget of 3 is left, and a machine takes 2")
    bench = Bench([minutely(price=3)], tenants=[Tenant("default", UNIT)])
    bench.submit(0, workflow(task("c")))
    assert ask(bench, 0) == Reason(Cause.BUDGET, "1 of the budget of 1 is left, and a machine takes 3")


def test_a_policy_may_hold_it_back() -> None:
    idle = Idle()
    bench = Bench([minutely()], "fixed", {"machines": 1})
    bench.core.policy = Policy("idle", bench.core.policy.scaler, idle)
    bench.submit(0, workflow(task()))
    bench.tell(MachineReady, 0, 0)
    assert ask(bench, 0) == Reason(Cause.DECISION, "a machine has room; the policy holds it back")


def test_a_machine_that_is_being_drained_has_no_room() -> None:
    bench = Bench([minutely(slots=2, limit=1)])
    bench.submit(0, workflow(task("a")))
    bench.tell(Timer, 0)
    bench.tell(MachineReady, 0, 0)
    bench.tell(MachineUnwanted, 1, 0, "not wanted")
    bench.submit(2, workflow(task("b")))
    assert ask(bench, 1).cause is Cause.BUSY


def test_it_has_ended_or_can_never_run() -> None:
    bench = Bench([minutely()], "fixed", {"machines": 1})
    bench.submit(0, workflow(task("a"), task("b")))
    bench.tell(MachineReady, 0, 0)
    bench.tell(Finished, 1, 0, 1, 0)
    assert ask(bench, 0) == Reason(Cause.ENDED, "is done")
    unit = bench.state.units[1]
    unit.need = Need(9, GPU, (1,), ())
    unit.state = 1
    assert ask(bench, 1) == Reason(Cause.IMPOSSIBLE, "no machine type offers gpu")


def test_figures_of_work_that_never_ended_are_refused() -> None:
    bench = Bench([minutely(price=3)], tenants=[Tenant("ann", UNIT)])
    bench.submit(0, workflow(task("a"), task("b"), parents=[[], [0]]), "ann")
    (found,) = stuck(bench.state)
    assert (found.task, found.left, found.tenant) == ("a", 2, "ann")
    with pytest.raises(UnfinishedError, match=r"pfa never finishes 1 .* of ann: task 'a' .* 1 of the budget of 1 is"):
        ensure_ended([found], "pfa")
    ensure_ended([], "pfa")
