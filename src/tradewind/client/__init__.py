"""Clients: the same operations on a server, or on the store of a folder without one."""
