"""The paper's experiments with real processes at reduced size: each agent is a worker process on this host."""
