"""`unpack`: writes a packed run's files into its folder."""

from __future__ import annotations

import argparse

from kbench import store
from kbench.errors import UserError


def main(options: argparse.Namespace) -> int:
    """Write the run's files into its folder. Raises UserError."""
    run = store.find(options.run, options.results)
    if not store.is_packed(run):
        raise UserError(f"{run} is no packed run: it has its files in its folder.")
    store.unpack(run)
    print(f"Unpacked: {run}")
    return 0
