"""The papers' experiments, run again: one package for each paper, and what they share."""
