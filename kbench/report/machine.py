"""What run.json holds of machine and request, all of it, and what the backends' files say of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_NAMES = {
    "command_line": "command",
    "memory_mib": "memory (MiB)",
    "memory_limit_mib": "memory limit (MiB)",
    "gpus": "GPUs",
    "cpu": "CPU",
    "blas": "BLAS",
}


def settings(reported: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What run.json holds, as name and value, nested names in words: `CPU model`, `AMD EPYC`."""
    return [(name, value) for name, value in _flat(reported, "") if value]


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


def titles(backends: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Of each backend: its name, and its title with its notes."""
    rows = []
    for name, about in sorted(backends.items()):
        notes = about.get("notes")
        texts = [_text(about.get("title")), *(map(_text, notes) if isinstance(notes, list | tuple) else ())]
        rows.append((name, " ".join(f"{part.rstrip('.')}." for part in texts if part)))
    return rows
