"""Simple policies for comparison."""
