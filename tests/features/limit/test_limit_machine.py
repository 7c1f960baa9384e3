"""What a run's configuration says of its machine's limits, whatever the run has of them."""

from __future__ import annotations

from typing import Any

import pytest

from kbench.tables.configuration import configuration

LIMITS: dict[str, Any] = {
    "operations_per_second": 1.5e11,
    "bytes_per_second": 2e10,
    "matrix": 768,
    "array_bytes": 1 << 26,
    "threads": 2,
}


def section(provenance: dict[str, Any]) -> str:
    return "\n\n".join(configuration({"python": "CPython 3.12.1", **provenance}, {}, [], []))


def test_the_rates_are_stated_with_what_they_were_measured_on() -> None:
    said = section({"limits": LIMITS})
    assert (
        "| limits | 150 GFLOP/s (float32 product of 768 x 768 matrices), 20.0 GB/s (copying 64 MiB), with 2" in said
    )
    assert "limits" not in section({})


@pytest.mark.parametrize("of_end", [False, True])
def test_whatever_a_run_json_has_the_page_is_made(of_end: bool) -> None:
    for value in (None, [], ["x"], "x", 3, {"a": None}, *({**LIMITS, name: "x"} for name in LIMITS)):
        kept = {"limits": value}
        assert "## Configuration" in section({"ended": kept} if of_end else kept)
