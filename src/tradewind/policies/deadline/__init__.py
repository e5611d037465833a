"""Deadlines at the lowest cost: SCS of Mao and Humphrey (SC 2011), its rivals Greedy and GAIN, and our own SCS+."""
