"""Divisible jobs over slots of sites that we do not own: the pure part.

Each verb takes the few records that it concerns out of a `Book`, changes them, puts them back and answers; it reads no
clock and draws no chance. In simulations the book lies in memory, for real it is one transaction of the store. What a
verb costs does not depend on how many partitions a job has, for a job keeps sums over its partitions.
"""
