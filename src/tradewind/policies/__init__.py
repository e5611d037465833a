"""Policies: pure decisions over a read-only view, each a combination of scaler, placer and balancer."""
