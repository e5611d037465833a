"""Elastic units: iterations that several attempts share, with an exact ledger of where each iteration is."""
