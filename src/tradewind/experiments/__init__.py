"""Reproductions of the papers' experiments: one package per paper, and the code they share."""
