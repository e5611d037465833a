"""Plain data that every other part speaks of: units, work, machines, tenants, events and commands."""
