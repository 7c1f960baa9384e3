"""`pack`: writes a run into one file, to keep or send."""

from __future__ import annotations

import argparse

from kbench import store
from kbench.errors import UserError
from kbench.words.text import size


def main(options: argparse.Namespace) -> int:
    """Write the file; print its name, its size, and what to read before it is sent. Raises UserError."""
    run = store.find(options.run, options.results)
    if store.is_packed(run):
        raise UserError(f"{options.run} is packed already: {store.packed_file(run)}.")
    store.read_record(run)  # which says so where it is damaged, or on a cluster
    packed = store.packed_file((options.out or run.parent) / run.absolute().name)
    logs = store.pack(run, packed)
    print(f"{packed}: {size(packed.stat().st_size)}")
    if logs:
        count = "a log" if len(logs) == 1 else f"{len(logs)} logs"
        print(f"In it is {count} of what did not end ok, such as {logs[0]}: read that before you publish it.")
    return 0
