"""Simulated sites and workers around the same service of divisible jobs that runs for real."""
