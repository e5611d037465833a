"""A process that saves batch after batch until it is killed, and tells of each: `store_child WHERE`."""

import sys

from store_samples import crash_batch

from tradewind.live.store.open import open_store

if __name__ == "__main__":
    store = open_store(sys.argv[1], durability="strict")
    notes = store.load().notes
    number = notes["batch"] + 1 if notes else 0
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        store.save(crash_batch(number))
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        number += 1
