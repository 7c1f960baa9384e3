"""How much `python run.py` adds to a call of kbench: pairs of calls, with and without the front door.

    python benchmarks/front_door.py [PAIRS]

Calls `run.py --version` and, interleaved, `python -m kbench --version` in the environment that
run.py makes. Prints the median of both, of their differences, and of their ratios.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CHECKOUT))

from kbench.bootstrap import entry, host_environment


def seconds(command: list[str]) -> float:
    """Wall-clock seconds of one call, which has to end well."""
    start = time.perf_counter()
    subprocess.run(command, cwd=CHECKOUT, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main(pairs: int) -> None:
    """Measure `pairs` pairs and print the three medians."""
    lock = CHECKOUT / "requirements" / "host.lock"
    python = entry.ensure(lock, host_environment.cache_folder(), "kbench's own environment", "about a minute")
    through = [sys.executable, str(CHECKOUT / "run.py"), "--version"]
    direct = [str(python), "-m", "kbench", "--version"]
    seconds(through), seconds(direct)  # the first calls fill the disk cache and compile modules
    measured = [(seconds(through), seconds(direct)) for _ in range(pairs)]
    print(f"through run.py {statistics.median(a for a, _ in measured):.3f} s")
    print(f"direct         {statistics.median(b for _, b in measured):.3f} s")
    print(f"added          {statistics.median(a - b for a, b in measured):.3f} s")
    print(f"ratio          {statistics.median(a / b for a, b in measured):.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
