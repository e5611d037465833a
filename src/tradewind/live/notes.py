"""Under which names the store notes what is true of a run and has no column of its own."""


def uncached_note(run: int) -> str:
    """That nothing of a run is taken from the cache."""
    return f"no cache/{run}"


def keeps_going_note(run: int) -> str:
    """That a run goes on after a failure."""
    return f"keeps going/{run}"


def suspended_note(run: int) -> str:
    """That nothing of a run is to be started for now."""
    return f"suspended/{run}"


def predicted_note(run: int) -> str:
    """When a run is thought to end."""
    return f"predicted/{run}"


def reason_note(run: int) -> str:
    """Why a run has failed, if that is no task's fault."""
    return f"reason/{run}"


def impossible_note(run: int) -> str:
    """That a run has failed because no machine can ever run what it needs."""
    return f"impossible/{run}"


JOINED_KINDS = "machines/joined kinds"
"""Types of machines that have joined, in the order in which they were first seen."""

IDENTITY = "store/identity"
"""What tells a store from all others, for those who work for it and outlive its control plane."""


SIGNER = "store/signer"
"""Under which leases and addresses are signed."""


def names_of_notes(run: int) -> list[str]:
    """All names under which something may be noted of a run."""
    return [note(run) for note in _NOTES]


_NOTES = (uncached_note, keeps_going_note, suspended_note, predicted_note, reason_note, impossible_note)
