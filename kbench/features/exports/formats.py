"""A run's data for other programs: Parquet and JSON files, TensorBoard event files, MLflow runs."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from kbench.analysis.rows import Analysis
from kbench.errors import UserError

# Target -> the package that it takes and kbench does not bring.
TARGETS = {"parquet": "pyarrow", "json": "", "tensorboard": "tensorboard", "mlflow": "mlflow"}


def write(run: Analysis, target: str, out: Path) -> list[str]:
    """Write the run below the folder `out`; returns paths, or where it was sent. Raises UserError."""
    try:
        if package := TARGETS[target]:
            importlib.import_module(package)
        out.mkdir(parents=True, exist_ok=True)
    except ImportError as error:
        raise UserError(
            f"--to {target} needs {package}, which is not installed: `{sys.executable} -m uv pip install {package}`, "
            f"or `pip install 'kbench[{target}]'` where pip installed kbench."
        ) from error
    except OSError as error:
        raise UserError(f"Cannot make {out}: {error.strerror or error}; choose another folder with --out.") from error
    module = importlib.import_module(f"kbench.features.exports.to_{target}")
    made: list[str] = module.write(run, out)
    return made
