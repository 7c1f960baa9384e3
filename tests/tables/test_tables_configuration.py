"""The configuration section: what is known of machine and environments is stated, and nothing acts as markup."""

from __future__ import annotations

from typing import Any

import pytest
from fake_runs import cell, measured, summary

from kbench.tables.configuration import configuration

GPU = {"index": 0, "name": "NVIDIA H100", "driver": "550.54", "memory_mib": 81920}
AT_START = {"sm_clock_mhz": 345, "max_sm_clock_mhz": 1980, "power_watts": 68.5, "power_limit_watts": 700.0}
AT_END = {"sm_clock_mhz": 1980, "max_sm_clock_mhz": 1980, "throttled": ["power cap"], "temperature_celsius": 66}
KNOWN: dict[str, Any] = {
    "started": "2026-01-01T00:00:00+00:00",
    "python": "CPython 3.12.1",
    "kbench": {"version": "0.1.0", "commit": "0123456789abcdef", "dirty": True},
    "system": {"name": "Linux", "distribution": "Debian 12", "kernel": "6.1.0", "machine": "x86_64"},
    "cpu": {"model": "A processor", "visible": 2, "caches_kib": {"L1d": 32, "L3": 32768}, "busy": 0.25},
    "memory_mib": 24576,
    "load_average": [0.5, 1.0, 2.0],
    "gpus": [{**GPU, "state": AT_START}],
    "environments": {
        "keras2/a": {
            "build": "cpu",
            "lock_sha256": "ab" * 32,
            "packages": {"x": "1", "y": "2"},
            "variables": {"OMP_NUM_THREADS": "2", "A": "`1|2`"},
        },
        "keras3/b": {"as_is": True, "lock_sha256": "", "packages": {}, "variables": {"OMP_NUM_THREADS": "2"}},
    },
    "ended": {"time": "2026-01-01T01:00:00+00:00", "load_average": [1.5, 1.0, 1.0], "gpus": {"gpu:0": AT_END}},
}
FACTS = {
    "python": "3.6.15",
    "libraries": [
        {"kind": "MKL", "file": "libmkl_rt.so", "threads": 2},
        {"kind": "oneDNN", "file": "libdnnl.so", "threads": None},
    ],
    "framework_threads": {"intra_op": 2},
    "numpy_blas": "openblas 0.3",
}
EXAMPLES = {"mnist_cnn": {"sha256": "cd" * 32, "data": "mnist", "data_source": "real", "data_sha256": "ef" * 32}}


def section(provenance: dict[str, Any], facts: Any = FACTS) -> str:
    cells = [measured(cell(backend="keras2/a"), 1.0, facts=facts)]
    return "\n\n".join(configuration(provenance, EXAMPLES, cells, [summary()]))


def test_what_is_known_is_stated() -> None:
    said = " ".join(section(KNOWN).replace("\\", "").split())
    for part in (
        "A processor, 2 cores, L1d 32 KiB, L3 32 MiB",
        "24.0 GiB",
        "at the start: 345 of 1980 MHz, 68 of 700 W",
        "at the end: 1980 of 1980 MHz, 66 °C, slowed: power cap",
        "0.5 over the minute before the start, 1.5 before the end, other programs kept 0.2 cores busy",
        "Debian 12, Linux 6.1.0, x86_64",
        "0.1.0, commit 0123456789ab with changes, CPython 3.12.1",
        "| mnist_cnn | cdcdcdcdcdcd | mnist, real, efefefefefef | 1,199,882 |",
        "| cpu | abababababab | 2 | MKL (2), oneDNN, numpy: openblas 0.3 | intra_op 2 |",
        "| the user's own | - | - | - | - |",
        "- **every backend**: `OMP_NUM_THREADS=2`",
    ):
        assert part in said, part


def test_values_of_variables_cannot_end_their_code() -> None:
    assert "- **keras2/a**: `` A=`1|2` ``" in section(KNOWN)


def test_of_a_run_that_knows_nothing_nothing_is_said() -> None:
    assert configuration({}, {}, [], []) == []


@pytest.mark.parametrize("what", KNOWN)
def test_whatever_a_run_json_has_the_page_is_made(what: str) -> None:
    inner = KNOWN[what] if isinstance(KNOWN[what], dict) else {"keras2/a": {"packages": 1}, "a": None}
    for value in (None, [], ["x"], "x", 3, {"a": None}, *({**inner, name: 7} for name in inner)):
        assert "## Configuration" in section({**KNOWN, what: value})


@pytest.mark.parametrize("fact", FACTS)
def test_whatever_a_guest_told_the_page_is_made(fact: str) -> None:
    for value in (None, [], ["x"], [{}], "x", 3, {"a": None}):
        assert "## Configuration" in section(KNOWN, {**FACTS, fact: value})
