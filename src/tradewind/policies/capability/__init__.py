"""Policies that match what work requires with what machines offer."""
