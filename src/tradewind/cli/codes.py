"""Exit codes of commands that run, watch or plan work."""

DONE = 0
FAILED = 1
WRONG_USE = 2
BUDGET = 3
"""The budget cannot pay for any machine."""
LATE = 4
"""The deadline was missed, or cannot be met."""
NEVER = 5
"""No machine can ever run it."""
INTERRUPTED = 130
