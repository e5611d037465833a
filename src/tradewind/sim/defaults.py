"""What is taken where a user names no machines: the two types of the PFA paper (section 4.2).

The paper ties no speed to a price. Tasks that declare one run time only are taken to run 1.5 times as fast on Large,
the mean ratio of its Workload II, so that the dearer type is worth something.
"""

from tradewind.model.machine import Billing, MachineType
from tradewind.model.units import MINUTE, UNIT

SMALL = MachineType("small", price=1 * UNIT, billing=Billing(MINUTE), limit=32)
LARGE = MachineType("large", price=5 * UNIT, billing=Billing(MINUTE), limit=32, speed=1.5)
MACHINES = (SMALL, LARGE)
