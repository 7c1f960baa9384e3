"""Test helper: the folder with the published files of the datasets, where this machine has them."""

from __future__ import annotations

import os
from pathlib import Path

import left_out

MIRROR = Path(os.environ.get("KBENCH_DATA") or Path(__file__).resolve().parents[2] / "shared" / "datasets")


def originals() -> Path:
    """The folder; a test that compares with its files is thorough, and is skipped where there is none."""
    if not MIRROR.is_dir():
        left_out.skip("The original data are needed to compare with them: name their folder in KBENCH_DATA.")
    return MIRROR
