"""Parquet files: summary, epochs and cells, with numbers as numbers and unknown values as null."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from kbench.analysis.rows import Analysis
from kbench.outputs import dataframes
from kbench.store.files import replace


def write(run: Analysis, out: Path) -> list[str]:
    """Write three files; returns their paths. Raises UserError."""
    data = dataframes.data(run)
    made = []
    for name, frame in (("summary", data.summary), ("epochs", data.epochs), ("cells", data.cells)):
        content = BytesIO()
        frame.to_parquet(content, engine="pyarrow", index=False)
        replace(out / f"{name}.parquet", content.getvalue(), durable=False)
        made.append(str(out / f"{name}.parquet"))
    return made
