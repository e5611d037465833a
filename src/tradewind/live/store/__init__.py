"""The durable store: what is true after a crash.

Rows, not events: each row says how a run, a unit or a machine stands, and a batch of changes is one transaction. Start
with `port` (the verbs), then `rows` (the nouns); `open` makes a store from a path or an address.
"""
