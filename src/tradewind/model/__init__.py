"""Plain data shared by all other parts: units, work, machines, tenants, events and commands."""
