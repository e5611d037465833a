"""Calls of shares of elastic units, and of processes that reduce their results; see `docs/share-protocol.md`."""
