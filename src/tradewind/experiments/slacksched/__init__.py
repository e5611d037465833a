"""The experiments of the paper on harvested capacity (SlackSched: Agarwal and others)."""
