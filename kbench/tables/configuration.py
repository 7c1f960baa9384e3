"""The configuration section of a run's page: machine, examples and environments, as a paper states them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from kbench import hooks
from kbench.records.reported import Facts, first_known
from kbench.records.values import Measured
from kbench.store.reading import objects
from kbench.summary import Summary
from kbench.tables.content import Table
from kbench.tables.markdown import body, code, escape
from kbench.words.text import MISSING

T = TypeVar("T")

_LIBRARIES_SHOWN = 6
_THREADS = (
    "libraries: those loaded when a cell ended, with their threads. threads: as the framework reports them; 0 means "
    "that it decides itself."
)
_ENVIRONMENTS = ("backend", "Python", "Keras", "version", "build", "lock", "packages", "libraries", "threads")


def tables(
    provenance: Mapping[str, Any],
    examples: Mapping[str, Mapping[str, Any]],
    measured: Sequence[Measured],
    summaries: Sequence[Summary],
) -> list[Table]:
    """Machine, examples and environments, without those of which nothing is known."""
    remarks = (_THREADS,) if any(one.facts.framework_threads for one in measured) else ()
    machine = [(name, text) for name, text in _machine(provenance).items() if text]
    environments = _environments(measured, objects(provenance.get("environments")))
    counted = {"parameters": "parameters"}
    counted |= {name: one.of_examples for name, one in hooks.columns().items() if one.of_examples}
    heads = ("example", "code", "data", *counted.values())
    found = [
        Table("Machine", ("", ""), tuple(machine), frozenset({""})),
        Table("Examples", heads, tuple(_examples(examples, summaries, [*counted])), frozenset(heads)),
        Table("Environments", _ENVIRONMENTS, tuple(environments), frozenset(_ENVIRONMENTS), remarks=remarks),
    ]
    return [table for table in found if table.rows]


def configuration(
    provenance: Mapping[str, Any],
    examples: Mapping[str, Mapping[str, Any]],
    measured: Sequence[Measured],
    summaries: Sequence[Summary],
) -> list[str]:
    """Paragraphs of Markdown; empty where nothing is known. `examples` are those of the plan, by their names."""
    parts = [body(table) for table in tables(provenance, examples, measured, summaries)]
    if lines := variables(provenance):
        listed = [
            f"- **{escape(name)}**: {' '.join(code(f'{key}={value}') for key, value in some.items())}"
            for name, some in lines
        ]
        parts.append("\n".join(["Environment variables:", "", *listed]))
    return ["## Configuration", *parts] if parts else []


def _machine(reported: Mapping[str, Any]) -> dict[str, str]:
    cpu, system, own, ended = (_at(reported, name) for name in ("cpu", "system", "kbench", "ended"))
    caches = [f"{name} {_size(size)}" for name, size in _as(dict, _at(cpu, "caches_kib")).items()]
    gpus = [gpu for gpu in _as(list, reported.get("gpus")) if isinstance(gpu, dict)]
    commit = _text("commit {:.12}", _at(own, "commit"))
    return {
        "processor": _joined(
            _at(cpu, "model"),
            _text("{:g} cores", _at(cpu, "visible")),
            *caches,
            _text("governor {}", _at(cpu, "governor")),
        ),
        "memory": _joined(
            _gib("{}", _at(reported, "memory_mib")),
            _gib("{} free", _at(reported, "memory_available_mib")),
            _gib("limited to {}", _at(reported, "memory_limit_mib")),
        ),
        **{f"gpu:{gpu.get('index')}": _gpu(gpu, _at(ended, "gpus", f"gpu:{gpu.get('index')}")) for gpu in gpus},
        "load": _joined(
            _text("{} over the minute before the start", _at(reported, "load_average", 0)),
            _text("{} before the end", _at(ended, "load_average", 0)),
            _text("other programs kept {:.1f} cores busy", _at(cpu, "busy")),
        ),
        **hooks.machine_shown(reported),
        "system": _joined(
            _at(system, "distribution"),
            f"{_at(system, 'name') or ''} {_at(system, 'kernel') or ''}".strip(),
            _at(system, "machine"),
        ),
        "kbench": _joined(
            _at(own, "version"),
            commit and commit + " with changes" * bool(_at(own, "dirty")),
            _at(reported, "python"),
        ),
        "time": _joined(_text("from {}", _at(reported, "started")), _text("to {}", _at(ended, "time"))),
    }


def _gpu(gpu: Mapping[str, Any], at_end: object) -> str:
    parts = [_joined(gpu.get("name"), _text("driver {}", gpu.get("driver")), _gib("{}", gpu.get("memory_mib")))]
    for when, state in (("at the start", gpu.get("state")), ("at the end", at_end)):
        throttled = " and ".join(map(str, _as(list, _at(state, "throttled"))))
        reported = _joined(
            _text("{} of {} MHz", _at(state, "sm_clock_mhz"), _at(state, "max_sm_clock_mhz")),
            _text("memory {} of {} MHz", _at(state, "memory_clock_mhz"), _at(state, "max_memory_clock_mhz")),
            _text("{:.0f} of {:.0f} W", _at(state, "power_watts"), _at(state, "power_limit_watts")),
            _text("{} °C", _at(state, "temperature_celsius")),
            _text("slowed: {}", throttled),
        )
        parts += [f"{when}: {reported}"] if reported else []
    return "; ".join(part for part in parts if part)


def _examples(
    examples: Mapping[str, Mapping[str, Any]], summaries: Sequence[Summary], counted: Sequence[str]
) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, about in examples.items():
        of_example = [row for row in summaries if row.example == name]
        counts = (
            " or ".join(dict.fromkeys(f"{count:,}" for row in of_example if (count := row.value(field)))) or MISSING
            for field in counted
        )
        data = _joined(about.get("data"), about.get("data_source"), _text("{:.12}", about.get("data_sha256")))
        rows.append((name, _text("{:.12}", about.get("sha256")), data, *counts))
    return rows


def _environments(
    measured: Sequence[Measured], environments: Mapping[str, Mapping[str, Any]]
) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name in dict.fromkeys([*environments, *(one.cell.backend for one in measured)]):
        facts = first_known(one.facts for one in measured if one.cell.backend == name)
        own = environments.get(name, {})
        packages, threads = _as(dict, own.get("packages")), facts.framework_threads
        if own or facts.python:
            cells = (
                *(facts.python, facts.keras_version, facts.backend_version),
                "the user's own" if own.get("as_is") else _text("{}", own.get("build")),
                _text("{:.12}", own.get("lock_sha256")),
                str(len(packages) or ""),
                _libraries(facts),
                ", ".join(f"{key} {'none' if value == '' else value}" for key, value in threads.items()),
            )
            rows.append((name, *(cell or MISSING for cell in cells)))
    return rows


def _libraries(facts: Facts) -> str:
    """The kinds that the process had loaded, with their threads; and the BLAS of its numpy."""
    kinds = dict.fromkeys(
        one.kind if one.threads is None else f"{one.kind} ({one.threads})" for one in facts.libraries
    )
    return _joined(*[*kinds][:_LIBRARIES_SHOWN], _text("numpy: {}", facts.numpy_blas))


def variables(provenance: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The environment variables that all backends share, then those of each backend alone, with whose they are."""
    environments = objects(provenance.get("environments"))
    given = {name: _as(dict, about.get("variables")) for name, about in environments.items()}
    shared = {
        name: value
        for name, value in next(iter(given.values()), {}).items()
        if len(given) > 1 and all(own.get(name) == value for own in given.values())
    }
    lines = [("every backend", shared)]
    lines += [(name, {key: own[key] for key in own if key not in shared}) for name, own in given.items()]
    return [(name, some) for name, some in lines if some]


def _joined(*parts: object) -> str:
    return ", ".join(str(part) for part in parts if part)


def _text(form: str, *values: object) -> str:
    """`form` with the values in it; empty where one is unknown, or of another kind."""
    if any(value in (None, "") for value in values):
        return ""
    try:
        return form.format(*values)
    except (TypeError, ValueError):
        return ""


def _gib(form: str, mib: object) -> str:
    return _text(form, f"{mib / 1024:.1f} GiB") if isinstance(mib, int | float) else ""


def _size(kib: object) -> str:
    if not isinstance(kib, int):
        return MISSING
    return f"{kib // 1024} MiB" if kib >= 1024 and kib % 1024 == 0 else f"{kib} KiB"


def _at(value: object, *path: str | int) -> Any:
    """What run.json has at that place; None where it has nothing there."""
    for key in path:
        try:
            value = value[key]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _as(kind: type[T], value: object) -> T:
    """The value, or an empty one where it is of another kind."""
    return value if isinstance(value, kind) else kind()
