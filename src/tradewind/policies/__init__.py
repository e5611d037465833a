"""Policies: pure decisions over a read-only view, each a scaler and a placer that go together."""
