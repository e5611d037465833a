"""Policies that match the capabilities that tasks require with those that machines offer."""
