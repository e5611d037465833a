"""The agent on a machine: runs work for a server over outbound HTTPS, and the SDK of programs with iterations."""
