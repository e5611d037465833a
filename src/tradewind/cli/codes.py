"""How commands that run, follow or foresee work end, as a shell sees it."""

DONE = 0
FAILED = 1
WRONG_USE = 2
BUDGET = 3
"""The budget pays for no machine."""
LATE = 4
"""The deadline was missed, or cannot be met."""
NEVER = 5
"""No machine can ever run it."""
INTERRUPTED = 130
