"""What took most of a trace."""

from __future__ import annotations

from typing import Any

from guest_modules import alone

from kbench.base import paths

profilers = alone("profilers", paths.PACKAGE / "features" / "explain" / "guest" / "kbench_explain")


def ran(name: str, start: float, took: float, thread: int = 1) -> dict[str, Any]:
    return {"ph": "X", "pid": 1, "tid": thread, "name": name, "ts": start, "dur": took}


def test_the_time_of_an_operation_is_without_what_lies_within_it() -> None:
    events = [
        {"ph": "M", "pid": 1, "tid": 1, "name": "thread_name", "args": {"name": "python"}},
        ran("$trainer.py:1 fit", 0, 100),
        ran("while.3", 10, 50),
        ran("dot.1", 20, 10),
        ran("dot.2", 30, 20),
        ran("dot.1", 5, 7, thread=2),
    ]
    found = {name: (round(1e6 * seconds), calls) for name, seconds, calls in profilers.of_events(events)}
    assert found == {"while": (20, 1), "dot": (37, 3)}
