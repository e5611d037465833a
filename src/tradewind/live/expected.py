"""What an engine should have, as far as the core knows; the engine compares it with what it has."""

from tradewind.core.state import State
from tradewind.live.port import Expected
from tradewind.live.standing import running_on


def expected(state: State) -> dict[int, Expected]:
    """The machines that are held, each with the units and attempts that run there."""
    return {
        machine.id: Expected(
            machine.kind.configured,
            not machine.is_booting,
            [(unit.id, attempt.number) for unit, attempt in running_on(machine)],
            machine.joined,
        )
        for machine in state.machines.values()
    }
