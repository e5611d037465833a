"""Engines: what runs attempts on machines. `local`: worker processes on this host; `fake`: nothing at all, at once."""
