"""What differs in how compared runs were set up: settings, machine, packages and environment variables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kbench.features.compare.pairing import ComparedRun
from kbench.machine import provenance
from kbench.words.text import plain

SETTING, MACHINE, PACKAGE, VARIABLE = "setting", "machine", "package", "variable"
ABSENT = "-"
# What a run's tables show anyway, or what follows from its course.
_NOT_SETTINGS = {"backends", "examples", "named_backends", "named_examples", "device", "values"}
_NOT_SETTINGS |= {"extra_repeats", "short", "asked", "data_sources", "example_settings"}


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same on all sides."""

    kind: str  # SETTING, MACHINE, PACKAGE or VARIABLE
    name: str
    backends: str  # whose environments it is in, separated by commas; empty if it is of the whole run
    values: tuple[str, ...]  # on each side; ABSENT where it has none


def differences(sides: Sequence[ComparedRun]) -> list[Difference]:
    """In the order of the kinds. Of environments only those that all sides have are compared."""
    requests = [{**one.request, **_of(one.request, "values")} for one in sides]
    known = set(requests[0]).intersection(*requests)  # earlier releases had fewer
    found = _unlike(SETTING, [_flat({name: one[name] for name in one if name in known}) for one in requests])
    found += _unlike(MACHINE, [_machine(one.provenance) for one in sides])
    for kind, key in ((PACKAGE, "packages"), (VARIABLE, "variables")):
        of_backends: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for backend in _common(sides):
            for one in _unlike(kind, [_of(_environment(side, backend), key) for side in sides]):
                of_backends.setdefault((one.name, one.values), []).append(backend)
        found += [
            Difference(kind, name, ", ".join(backends), values) for (name, values), backends in of_backends.items()
        ]
    return found


def _unlike(kind: str, facts: Sequence[Mapping[str, Any]]) -> list[Difference]:
    names = dict.fromkeys(name for one in facts for name in one)
    rows = {name: tuple(_shown(one.get(name)) for one in facts) for name in sorted(names)}
    return [Difference(kind, name, "", values) for name, values in rows.items() if len(set(values)) > 1]


def _shown(value: object) -> str:
    if value is None or value in ("", (), [], {}):
        return ABSENT
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    # The folder of an environment has a hash of its lock file, whose packages are compared.
    return plain(re.sub(r"[^:=,]*/environments/[^/:]+", "ENV", text))


def _flat(asked: object, before: str = "") -> dict[str, Any]:
    """A request's fields; those of a script or of --python by their own names."""
    found: dict[str, Any] = {}
    for key, value in asked.items() if isinstance(asked, Mapping) else ():
        if not before and key in _NOT_SETTINGS:
            continue
        if isinstance(value, Mapping):
            found |= _flat(value, f"{before}{key} ")
        else:
            found[f"{before}{key}".replace("script ", "").replace("_", "-") if before else str(key)] = value
    return found


def _machine(reported: Mapping[str, Any]) -> dict[str, Any]:
    system, own = _of(reported, "system"), _of(reported, "kbench")
    return {
        "processor": provenance.processor(reported),
        "cores": provenance.cores(reported),
        "GPU": provenance.gpu_names(reported),
        "memory (MiB)": reported.get("memory_mib"),
        "kernel": system.get("kernel"),
        "kbench": " ".join(str(own[key])[:12] for key in ("version", "commit") if own.get(key)),
        "Python of kbench": reported.get("python"),
    }


def _common(sides: Sequence[ComparedRun]) -> Iterable[str]:
    """The backends whose environments all sides have, of the rows that are compared."""
    first, *others = [
        [name for name in _of(one.provenance, "environments") if name in {timed.row.backend for timed in one.rows}]
        for one in sides
    ]
    return [name for name in first if all(name in other for other in others)]


def _environment(side: ComparedRun, backend: str) -> Mapping[str, Any]:
    return _of(_of(side.provenance, "environments"), backend)


def _of(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}
