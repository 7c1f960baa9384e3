"""Traces some steps of a training with the framework's own profiler, and then with Python's.

The file is in Chrome's trace format, compressed, which Perfetto opens.
"""

import cProfile
import os
import pstats
import shutil
import tempfile
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Tuple

from kbench_explain import of_frameworks
from kbench_guest.protocol import in_a_line

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_guest.protocol import Events

FILE = "trace.json.gz"
MOST = 30  # operations and functions that are told

Busy = Dict[str, Any]  # {"name", "seconds", "calls"}


def write(
    framework: "KerasModels", fit: Callable[[], None], steps: int, spec: Dict[str, Any], events: "Events"
) -> None:
    """Trace a fit of so many steps, and write the file beside the events and an event."""
    path = os.path.join(os.path.dirname(spec["events"]), FILE)
    operations: List[Tuple[str, float, int]] = []
    missing: List[str] = []
    folder = tempfile.mkdtemp()
    try:
        operations = of_frameworks.traced(framework, fit, folder, path)
    except NotImplementedError:
        missing.append("its framework has no profiler that kbench knows")
    except Exception as error:
        missing.append(f"its framework's profiler failed ({in_a_line(error)})")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    events.write(
        "traced",
        steps=steps,
        file=FILE if os.path.exists(path) else "",
        operations=_most([one for one in operations if one[1] > 0]),
        functions=_functions(fit),
        missing=missing,
    )


def _functions(fit: Callable[[], None]) -> List[Busy]:
    """Keras's own functions by the time spent in each, without what it calls."""
    profile = cProfile.Profile()
    profile.runcall(fit)
    found = []
    for (file, line, name), (_, calls, seconds, _, _) in pstats.Stats(profile).stats.items():  # type: ignore
        parts = file.replace(os.sep, "/").split("/")
        packages = [number for number, part in enumerate(parts) if part in ("keras", "tf_keras")]
        if packages:
            found.append((f"{'/'.join(parts[packages[-1] :])}:{line} {name}", seconds, calls))
    return _most(found)


def _most(found: List[Tuple[str, float, int]]) -> List[Busy]:
    """Those that took most, as an event has them."""
    ordered = sorted(found, key=lambda one: -one[1])[:MOST]
    return [
        {"name": name[:200], "seconds": float(f"{taken:.4g}"), "calls": int(calls)} for name, taken, calls in ordered
    ]
