"""Whom a record of the log concerns."""

from typing import Any

from tradewind.core.state import State
from tradewind.live.store.pages import Pages

_MOST = 100_000


class Owners:
    """Finds the tenant of a record: named in it, or that of its run or machine."""

    def __init__(self, pages: Pages, state: State) -> None:
        self._pages = pages
        self._state = state
        self._runs: dict[int, str | None] = {}
        self._machines: dict[int, str | None] = {}

    def __call__(self, record: dict[str, Any]) -> str | None:
        """The tenant's name; None: the record concerns nobody in particular."""
        tenant = record.get("tenant")
        if isinstance(tenant, str):
            return tenant
        if isinstance(run := record.get("run"), int):
            return self._of_run(run)
        if isinstance(machine := record.get("machine"), int):
            return self._of_machine(machine)
        return None

    def _of_run(self, number: int) -> str | None:
        active = self._state.runs.get(number)
        if active is not None:
            return active.pool.tenant.name
        if number not in self._runs:
            head = self._pages.heads([number]).get(number)
            _keep(self._runs, number, None if head is None else head.tenant)
        return self._runs[number]

    def _of_machine(self, number: int) -> str | None:
        held = self._state.machines.get(number)
        if held is not None:
            return held.pool.tenant.name
        if number not in self._machines:
            row = self._pages.machine(number)
            _keep(self._machines, number, None if row is None else row.tenant)
        return self._machines[number]


def _keep(known: dict[int, str | None], number: int, tenant: str | None) -> None:
    if len(known) >= _MOST:
        known.clear()
    known[number] = tenant
