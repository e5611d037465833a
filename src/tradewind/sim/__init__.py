"""The simulator: the core driven in virtual time over a simulated cloud."""
