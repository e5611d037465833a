"""What runs on a machine: a worker process that carries out orders, and the keeper that gives birth to workers.

These modules import nothing but small parts of the standard library: a machine should be up within milliseconds.
"""
