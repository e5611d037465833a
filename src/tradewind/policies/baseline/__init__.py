"""Simple policies to compare with."""
