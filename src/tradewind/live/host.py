"""This host as a machine: what is taken where a user declares none."""

import os
from pathlib import Path

from tradewind.model.machine import MachineType
from tradewind.model.requirement import amounts


def this_host() -> MachineType:
    """One machine with all processors and the memory of this host, at no price."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return MachineType("this-host", limit=1, slots=cpus, amounts=amounts(cpus=cpus, memory=_memory()))


def _memory() -> int:
    """Bytes of memory, as far as the system tells, within the limit of our control group."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
    except OSError:
        return pages
    return min(pages, int(limit)) if limit.isdigit() else pages
