"""One JSON file with all of a run: provenance, summary, cells, epochs."""

from __future__ import annotations

import json
from pathlib import Path

from kbench.analysis.rows import Analysis
from kbench.outputs import dataframes
from kbench.store.files import replace
from kbench.words.text import as_json


def write(run: Analysis, out: Path) -> list[str]:
    """Write data.json; returns its path. Raises UserError."""
    data = dataframes.data(run)
    frames = {"summary": data.summary, "cells": data.cells, "epochs": data.epochs}
    record = {
        "schema": 1,
        "name": data.name,
        "created": run.run.created,
        "provenance": data.provenance,
        # By pandas' own JSON, where unknown values are null.
        **{name: json.loads(frame.to_json(orient="records", double_precision=15)) for name, frame in frames.items()},
    }
    replace(out / "data.json", f"{as_json(record)}\n", durable=False)
    return [str(out / "data.json")]
