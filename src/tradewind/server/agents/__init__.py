"""What agents call, `/agent/v1`: described in `docs/agent-protocol.md`."""
