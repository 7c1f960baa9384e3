"""The configuration section of summary.md: machine, system, examples and environments, as a paper states them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kbench.analysis import roofline
from kbench.tables.content import Table
from kbench.tables.markdown import body, code, escape
from kbench.text import MISSING, significant
from kbench.values import Measured, Summary

_LIBRARIES_SHOWN = 6


def tables(
    provenance: Mapping[str, Any],
    examples: Mapping[str, Mapping[str, Any]],
    measured: Sequence[Measured],
    summaries: Sequence[Summary],
) -> list[Table]:
    """Machine, examples and environments; those left out of which nothing is known."""
    environments = _objects(provenance.get("environments"))
    remarks = (_THREADS,) if any(one.facts.get("framework_threads") for one in measured) else ()
    heads = ("example", "code", "data", "parameters", "operations / sample")
    found = [
        _table("Machine", ("", ""), [row for row in _machine(provenance) if row[1]]),
        _table("Examples", heads, _examples(examples, summaries)),
        _table("Environments", _BACKEND_COLUMNS, _backends(measured, environments), remarks),
    ]
    return [table for table in found if table.rows]


def _table(
    heading: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], remarks: tuple[str, ...] = ()
) -> Table:
    return Table(heading, columns, tuple(rows), frozenset(columns), remarks=remarks)


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


def _machine(reported: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    cpu, system, own = (_object(reported.get(name)) for name in ("cpu", "system", "kbench"))
    caches = _object(cpu.get("caches_kib"))
    yield (
        "processor",
        _joined(
            cpu.get("model"),
            _text("{:g} cores", cpu.get("visible")),
            ", ".join(f"{name} {_size(size)}" for name, size in caches.items()),
            _text("governor {}", cpu.get("governor")),
        ),
    )
    free, limit = reported.get("memory_available_mib"), reported.get("memory_limit_mib")
    total = [_gib("{}", reported.get("memory_mib")), _gib("{} free", free), _gib("limited to {}", limit)]
    yield "memory", _joined(*total)
    ended = _object(reported.get("ended"))
    for gpu in _list(reported.get("gpus")):
        yield f"gpu:{gpu.get('index')}", _gpu(gpu, _object(ended.get("gpus")))
    yield "load", _load(reported, ended)
    yield "limits", _limits(roofline.larger(reported))
    kernel = f"{system.get('name', '')} {system.get('kernel', '')}".strip()
    yield "system", _joined(system.get("distribution"), kernel, system.get("machine"))
    commit = _text("commit {:.12}", own.get("commit")) + (" with changes" if own.get("dirty") else "")
    yield "kbench", _joined(own.get("version"), commit, reported.get("python"))
    yield "time", _joined(_text("from {}", reported.get("started")), _text("to {}", ended.get("time")))


def _gpu(gpu: Mapping[str, Any], at_end: Mapping[str, Any]) -> str:
    states = {"at the start": gpu.get("state"), "at the end": at_end.get(f"gpu:{gpu.get('index')}")}
    parts = [_joined(gpu.get("name"), _text("driver {}", gpu.get("driver")), _gib("{}", gpu.get("memory_mib")))]
    for when, state in states.items():
        if isinstance(state, Mapping):
            of = state.get
            reported = _joined(
                _text("{} of {} MHz", of("sm_clock_mhz"), of("max_sm_clock_mhz")),
                _text("memory {} of {} MHz", of("memory_clock_mhz"), of("max_memory_clock_mhz")),
                _text("{:.0f} of {:.0f} W", of("power_watts"), of("power_limit_watts")),
                _text("{} °C", of("temperature_celsius")),
                _text("slowed: {}", " and ".join(_texts(of("throttled")))),
            )
            parts += [f"{when}: {reported}"] if reported else []
    return "; ".join(part for part in parts if part)


def _load(reported: Mapping[str, Any], ended: Mapping[str, Any]) -> str:
    first, last = (next(iter(_numbers(of.get("load_average"))), None) for of in (reported, ended))
    busy = _object(reported.get("cpu")).get("busy")
    return _joined(
        _text("{} over the minute before the start", first),
        _text("{} before the end", last),
        _text("other programs kept {:.1f} cores busy", busy),
    )


def _limits(limits: Mapping[str, Any]) -> str:
    rates = limits.get("operations_per_second"), limits.get("bytes_per_second")
    if not all(isinstance(rate, int | float) for rate in rates):
        return ""
    arithmetic, memory = (significant(float(rate) / 1e9) for rate in rates if rate is not None)
    size = limits.get("matrix")
    return (
        f"{arithmetic} GFLOP/s (float32 product of {size} x {size} matrices), {memory} GB/s (copying "
        f"{_size(_kib(limits.get('array_bytes')))}), with {limits.get('threads')} threads"
    )


def _examples(examples: Mapping[str, Mapping[str, Any]], summaries: Sequence[Summary]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, about in examples.items():
        of_example = [row for row in summaries if row.example == name]
        counted = dict.fromkeys(row.operations_per_sample for row in of_example if row.operations_per_sample)
        parameters = dict.fromkeys(row.parameters for row in of_example if row.parameters)
        data = _joined(about.get("data"), about.get("data_source"), _text("{:.12}", about.get("data_sha256")))
        rows.append(
            (
                name,
                _text("{:.12}", about.get("sha256")),
                data,
                " or ".join(f"{number:,}" for number in parameters) or MISSING,
                " or ".join(f"{number:,}" for number in counted) or MISSING,
            )
        )
    return rows


_THREADS = (
    "libraries: those that were loaded when a cell ended, with the threads that they would use; what a framework "
    "carries inside its own files does not show. threads: as the framework holds them, where it tells; 0 is left to "
    "itself and to its environment variables."
)
_BACKEND_COLUMNS = ("backend", "Python", "Keras", "version", "build", "lock", "packages", "libraries", "threads")


def _backends(measured: Sequence[Measured], environments: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name in dict.fromkeys([*environments, *(one.cell.backend for one in measured)]):
        facts: dict[str, Any] = {}
        for one in measured:
            if one.cell.backend == name:
                facts = {**one.facts, **facts}  # as the first cell that knows it reported
        own = environments.get(name, {})
        packages = own.get("packages")
        if own or facts.get("python"):
            rows.append(
                (
                    name,
                    _text("{}", facts.get("python")) or MISSING,
                    _text("{}", facts.get("keras_version")) or MISSING,
                    _text("{}", facts.get("backend_version")) or MISSING,
                    "the user's own" if own.get("as_is") else _text("{}", own.get("build")) or MISSING,
                    _text("{:.12}", own.get("lock_sha256")) or MISSING,
                    str(len(packages)) if isinstance(packages, Mapping) and packages else MISSING,
                    _libraries(facts),
                    _threads(facts),
                )
            )
    return rows


def _libraries(facts: Mapping[str, Any]) -> str:
    """The kinds that the process had, with their threads; and the BLAS of its numpy."""
    found: dict[str, None] = {}
    for one in _list(facts.get("libraries")):
        threads = one.get("threads")
        found[f"{one.get('kind')}" + (f" ({threads})" if isinstance(threads, int) else "")] = None
    shown = [*found][:_LIBRARIES_SHOWN]
    return _joined(*shown, _text("numpy: {}", facts.get("numpy_blas"))) or MISSING


def _threads(facts: Mapping[str, Any]) -> str:
    reported = _object(facts.get("framework_threads"))
    return ", ".join(f"{name} {value if value != '' else 'none'}" for name, value in reported.items()) or MISSING


def variables(provenance: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The environment variables that all backends share, and each backend's further ones, by whose they are."""
    environments = _objects(provenance.get("environments"))
    given = {name: _object(about.get("variables")) for name, about in environments.items()}
    if not any(given.values()):
        return []
    first = next(iter(given.values()))
    shared = {name: value for name, value in first.items() if all(own.get(name) == value for own in given.values())}
    lines: list[tuple[str, Mapping[str, Any]]] = [("every backend", shared)] if len(given) > 1 else []
    for name, own in given.items():
        lines.append((name, {key: value for key, value in own.items() if len(given) == 1 or key not in shared}))
    return [(name, some) for name, some in lines if some]


def _joined(*parts: object) -> str:
    return ", ".join(str(part) for part in parts if part)


def _text(form: str, *values: object) -> str:
    """`form` with the values in it; empty where one is not known, or of another kind."""
    if any(value in (None, "") for value in values):
        return ""
    try:
        return form.format(*values)
    except (TypeError, ValueError):
        return ""


def _gib(form: str, mib: object) -> str:
    return _text(form, f"{mib / 1024:.1f} GiB") if isinstance(mib, int | float) else ""


def _kib(size: object) -> object:
    return size // 1024 if isinstance(size, int) else None


def _size(kib: object) -> str:
    if not isinstance(kib, int):
        return MISSING
    return f"{kib // 1024} MiB" if kib >= 1024 and kib % 1024 == 0 else f"{kib} KiB"


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _numbers(value: object) -> list[float]:
    return [one for one in value if isinstance(one, int | float)] if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _objects(value: object) -> dict[str, Mapping[str, Any]]:
    """The entries of `value` that are objects themselves."""
    return {str(key): entry for key, entry in _object(value).items() if isinstance(entry, Mapping)}
