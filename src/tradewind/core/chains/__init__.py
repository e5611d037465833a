"""Chains: linear runs of steps that are placed as a whole.

`Generator` unfolds a program, which may grow while it runs; `link` finds the chains of a workflow whose graph is known.
"""

from tradewind.core.chains.chain import Chain
from tradewind.core.chains.frame import Fault
from tradewind.core.chains.generator import Generator
from tradewind.core.chains.link import Linked, link
from tradewind.core.chains.plan import ProgramError, prepare

__all__ = ["Chain", "Fault", "Generator", "Linked", "ProgramError", "link", "prepare"]
