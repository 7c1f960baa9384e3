"""`script`: run a user's own Keras program, as it is, on each backend."""

from __future__ import annotations

import argparse

from kbench.commands import run


def main(options: argparse.Namespace) -> int:
    """Measure what the options ask for; returns the exit status. Raises UserError."""
    return run.main(options)
