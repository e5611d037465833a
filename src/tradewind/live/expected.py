"""What an engine should have, as far as the core knows: the engine is asked to compare from time to time."""

from tradewind.core.state import State


def expected(state: State) -> tuple[dict[int, list[tuple[int, int]]], list[int]]:
    """The machines that are up, with the units and attempts that run there, and those that are awaited."""
    machines = state.machines.values()
    held = {
        machine.id: [
            (unit.id, attempt.number)
            for unit in machine.running.values()
            if (attempt := unit.on(machine.id)) is not None
        ]
        for machine in machines
        if not machine.is_booting
    }
    return held, [machine.id for machine in machines if machine.is_booting]
