"""The experiments of the budget paper (Performance-Feedback Autoscaler: Ilyushkin et al., Cluster 2019)."""

from tradewind.experiments.pfa.reproduce import reproduce

__all__ = ["reproduce"]
