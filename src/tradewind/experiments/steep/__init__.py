"""The experiments of the capability paper (Steep: Krämer, Efficient Scheduling of Scientific Workflow Actions, 2021)."""

from tradewind.experiments.steep.reproduce import reproduce

__all__ = ["reproduce"]
