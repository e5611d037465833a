"""Autoscaling within a budget per interval (Ilyushkin et al., Cluster 2019)."""
