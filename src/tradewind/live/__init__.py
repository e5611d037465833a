"""The live driver: the core driven in real time over a durable store and real machines."""
