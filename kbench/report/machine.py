"""The configuration table: hardware and software, as run.json and the guests tell them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kbench.values import Measured

_NAMES = {
    "command_line": "command",
    "memory_mib": "memory (MiB)",
    "memory_limit_mib": "memory limit (MiB)",
    "gpus": "GPUs",
    "cpu": "CPU",
    "blas": "BLAS",
}
# What a guest tells of its software; further down, as the columns of one table.
_OF_GUEST = {
    "backend_version": "version",
    "keras_version": "Keras",
    "python": "Python",
    "numpy_version": "numpy",
    "floatx": "floatx",
    "epsilon": "epsilon",
}


def settings(told: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What run.json tells, as name and value, nested names in words: `CPU model`, `AMD EPYC`."""
    return [(name, value) for name, value in _flat(told, "") if value]


def _flat(value: object, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            words = _NAMES.get(str(key), str(key).replace("_", " "))
            yield from _flat(inner, f"{name} {words}".strip())
    elif isinstance(value, list | tuple):
        if any(isinstance(inner, Mapping | list | tuple) for inner in value):
            for number, inner in enumerate(value):
                yield from _flat(inner, f"{name} {number}")
        else:
            yield name, ", ".join(_text(inner) for inner in value)
    else:
        yield name, _text(value)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def software(measured: Sequence[Measured], backends: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    """A row a backend: what its file says it is, and the versions that its guests told."""
    rows = []
    for name in sorted({one.cell.backend for one in measured}):
        cells = [one for one in measured if one.cell.backend == name]
        about = backends.get(name, {})
        notes = about.get("notes")
        row = {"backend": name, "title": _text(about.get("title"))}
        for fact, column in _OF_GUEST.items():
            told = dict.fromkeys(_text(one.facts[fact]) for one in cells if one.facts.get(fact) is not None)
            row[column] = ", ".join(told)
        row["notes"] = " ".join(map(_text, notes)) if isinstance(notes, list | tuple) else ""
        rows.append(row)
    return rows
