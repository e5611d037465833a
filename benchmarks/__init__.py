"""Benchmarks: `python -m benchmarks` prints tables and writes JSON; peers are measured in the same run."""
