"""Clients: the same verbs on a server, or on the store of a folder without one."""
