"""`export`: writes a run's data for other programs."""

from __future__ import annotations

import argparse

from kbench import hooks, store
from kbench.analysis.rows import Analysis
from kbench.errors import UserError
from kbench.features.exports import formats


def main(options: argparse.Namespace) -> int:
    """Write the run in each format and print the paths. Raises UserError, after what could be written."""
    run = store.find(options.run, options.results, timed=True)
    read = Analysis(store.read(run))
    if kind := hooks.kind_of(read.run):
        raise UserError(f"{options.run} is a {kind.name} run, which has no epochs: its {kind.file} holds all of it.")
    refused = []
    for target in dict.fromkeys(options.to):
        try:
            for made in formats.write(read, target, options.out or run / "export"):
                print(f"{target}: {made}")
        except UserError as error:  # the other formats are written all the same
            refused.append(str(error))
    if refused:
        raise UserError(" ".join(refused))
    return 0
