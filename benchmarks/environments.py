"""How long the environments of all backends take: cold, with empty caches, and warm.

    python benchmarks/environments.py       in an environment where kbench is installed; downloads a few GB

The goals are 5 minutes cold on two cores, and 1 second warm, for all of them together.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from kbench import paths
from kbench.environments import ensure
from kbench.machine import devices
from kbench.selection import backends, builds


def seconds(cache: Path) -> dict[str, float]:
    """Backend -> seconds until its CPU environment under `cache` is ready."""
    taken = {}
    for name, backend in backends.load_all(paths.project_folder("backends")).items():
        start = time.perf_counter()
        ensure.ensure(backend, builds.pick_build(backend, devices.CPU), cache=cache)
        taken[name] = time.perf_counter() - start
    return taken


def main() -> None:
    """Print both figures for each backend and their sums."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["UV_CACHE_DIR"] = str(Path(folder, "uv"))
        cold, warm = seconds(Path(folder, "kbench")), seconds(Path(folder, "kbench"))
    for name in cold:
        print(f"{name:20} cold {cold[name]:6.1f} s   warm {warm[name]:.4f} s")
    print(f"{'all':20} cold {sum(cold.values()):6.1f} s   warm {sum(warm.values()):.4f} s")


if __name__ == "__main__":
    main()
