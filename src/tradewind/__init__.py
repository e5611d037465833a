"""Tradewind runs workloads of workflows on rented machines, and simulates them with the same decisions."""

from importlib.metadata import version

__version__ = version("tradewind")
