"""The state machine of work, machines and money: events in, commands out, no clock and no input or output."""
