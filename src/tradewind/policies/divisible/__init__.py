"""Decisions about divisible jobs: how much each partition holds, how many partitions there are, how many slots."""
