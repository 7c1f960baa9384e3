"""One JSON file with all of a run: provenance, summary, cells, epochs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbench.exports import dataframes
from kbench.store import RunResults
from kbench.store.files import replace
from kbench.tables.json import as_json

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = 1


def write(run: RunResults, out: Path) -> list[str]:
    """Write data.json; returns its path. Raises UserError."""
    data = dataframes.data(run)
    record = {
        "schema": SCHEMA,
        "name": run.name,
        "created": run.created,
        "provenance": run.provenance,
        **{name: _records(getattr(data, name)) for name in ("summary", "cells", "epochs")},
    }
    replace(out / "data.json", f"{as_json(record)}\n".encode(), durable=False)
    return [str(out / "data.json")]


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """One object a row; what is not known is null."""
    records: list[dict[str, Any]] = json.loads(frame.to_json(orient="records", double_precision=15))
    return records
