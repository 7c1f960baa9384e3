"""`export`: writes a run's data for other programs."""

from __future__ import annotations

import argparse

from kbench import exports, store
from kbench.analysis.rows import Analysis
from kbench.coverage.results import is_coverage
from kbench.errors import UserError
from kbench.parity import reading


def main(options: argparse.Namespace) -> int:
    """Write the run in each format and print the paths. Raises UserError, after what could be written."""
    run = store.find(options.run, options.results, timed=True)
    read = Analysis(store.read(run))
    if reading.is_parity(read.run):
        raise UserError(f"{options.run} is a parity run, which has no epochs: its parity.csv holds all of it.")
    if is_coverage(read.run):
        raise UserError(f"{options.run} is a coverage run, which has no epochs: its coverage.json holds all of it.")
    refused = []
    for target in dict.fromkeys(options.to):
        try:
            for made in exports.write(read, target, options.out or run / "export"):
                print(f"{target}: {made}")
        except UserError as error:  # the other formats are written all the same
            refused.append(str(error))
    if refused:
        raise UserError(" ".join(refused))
    return 0
