"""The experiments of the budget paper (Performance-Feedback Autoscaler: Ilyushkin et al., Cluster 2019)."""
