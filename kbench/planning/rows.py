"""The rows of a plan: a task, which is not yet repeated, for each point of what varies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from kbench import datasets, hooks
from kbench.base.masking import masked_variables
from kbench.errors import Unavailable, Unsupported, UserError
from kbench.planning.request import MAX, Request
from kbench.planning.tasks import CellTask, of_build, with_guest
from kbench.records import axes
from kbench.records.axes import (
    BACKEND,
    BATCH_SIZE,
    DATA,
    DEVICE,
    EXAMPLE,
    LAYOUT,
    SAMPLES,
    SITE,
    TASK,
    Value,
)
from kbench.records.values import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    EXPORT,
    INFER,
    KERAS,
    SCRIPT,
    TRAIN,
    UNAVAILABLE,
    UNSUPPORTED,
    Backend,
    Device,
    Example,
    Outcome,
)
from kbench.selection import sources
from kbench.selection.builds import pick_build

# Time limits only catch cells that hang. The slowest cells of the reference run took 0.02 s per training sample,
# 0.7 s per sample of ResNet-50's inference, and 160 s to compile.
START_SECONDS = 900.0  # for imports, compilation and exit
SAMPLE_SECONDS = {"train": 0.2, "infer": 5.0}
SCRIPT_SECONDS = 3600.0
LONGEST_SECONDS = 48 * 3600.0
# What a task has of its backend if that is of another kind than Keras's.
OF_OTHERS = ("kind", "framework", "module")
# The axes whose values depend on a backend, or on whether an example has them.
_ELSEWHERE = (EXAMPLE, SITE, BACKEND, LAYOUT, DEVICE, TASK, DATA)


def of_example(
    example: Example,
    task: str,
    backends: Sequence[Backend],
    devices: Sequence[Device],
    request: Request,
    passed: Mapping[str, str],
    gpus: Sequence[Device] = (),
) -> Iterator[tuple[CellTask, Outcome | None]]:
    """The first repeat of each row of an example, and the outcome of those that cannot run. Raises UserError.

    `task` is its own, or inference of what it trains, or none that it can do. `gpus`: all of this machine.
    """
    several = len(request.tasks_of(example)) > 1
    of_work = [TASK] if (several or task != example.task) and task in request.tasks_of(example) else []
    impossible = example.task == INFER and task == TRAIN
    sources = request.sources_of(example.name, task) if datasets.is_published(example.data) else ()
    request = request.of(example.name, task)
    example = replace(example, task=task)
    given = _values(example, request)
    varied = (*of_work, *([DATA] if len(sources) > 1 else []), *(name for name, of in given.items() if len(of) > 1))
    sizes = [dict(zip(given, point, strict=True)) for point in product(*given.values())]
    if not request.threads_each and not request.worker_per_machine:
        for name, divided in ((axis.name, axis.carries) for axis in axes.of_cells() if axis.carries):
            sizes = [{**one, divided: max(1, int(one[divided]) // int(one[name]))} for one in sizes]
            varied += (divided,) if name in varied and divided not in varied else ()
    for values, source, device, backend in product(sizes, sources or ("",), devices, backends):
        of_backend, verdict = fields_of_backend(backend, example.task, request, device)
        for layout in _layouts(example, backend, request.on(LAYOUT), device):
            row = CellTask(
                values=axes.complete(
                    {
                        EXAMPLE: example.name,
                        BACKEND: backend.name,
                        LAYOUT: layout,
                        DEVICE: device.label,
                        TASK: task,
                        DATA: source,
                        **values,
                    }
                ),
                varied=varied,
                repeat=1,
                seed=request.seed,
                init=request.init,
                passed=passed,
                memory_limit_mib=request.memory_limit_mib,
                script=_of_script(request, backend),
                **_of_example(example, request, values),
                **of_backend,
            )
            engine, why = hooks.engine(row).of_row(row, backend, device, gpus, request.worker_per_machine)
            alone = Outcome(UNSUPPORTED, why) if why else None
            row, nothing = _in_place(replace(row, engine=engine), example, backend, device, backends)
            found = verdict or nothing or alone
            if impossible:
                found = Outcome(UNSUPPORTED, f"{example.name} only predicts and cannot be trained")
            yield with_guest(row), found


def _of_script(request: Request, backend: Backend) -> dict[str, Any] | None:
    """How the program is run in the cells of a backend; `added`: what a variant gives it in addition."""
    if request.script is None:
        return None
    kept, added = request.script.kept(), request.script.of_variant(backend.arguments)
    kept = {name: value for name, value in kept.items() if name not in ("variants", "compare_lines")}
    of_variant = {"arguments": (*kept["arguments"], *added), "added": added} if added else {}
    of_seeds = {"shift_seeds": True} if request.seeds == "different" else {}  # the program's own, by the cell's
    return {**kept, **of_variant, **of_seeds, "parts": _parts(request)}


def _parts(request: Request) -> tuple[str, ...]:
    """The features that do something in the process of a program."""
    return tuple(one.feature for one in hooks.program_parts(request.asked) if one.asked)


def repeats(task: CellTask, request: Request) -> set[int]:
    """The repeats of a row."""
    return {*range(1, request.repeats + 1), *request.extra_repeats.get(task.row_id, ())}


def _values(example: Example, request: Request) -> dict[str, Sequence[Value]]:
    """The values to measure of an example on each axis that depends on no backend; numbers from the smallest on."""
    if example.task == SCRIPT:  # found, not asked for
        of_example: dict[str, Sequence[Value]] = {BATCH_SIZE: [0], SAMPLES: [0]}
    else:
        samples = request.numbers_on(SAMPLES) or (_samples(example, request),)
        of_example = {BATCH_SIZE: _batch_sizes(example, request, samples[0]), SAMPLES: samples}
    others = [axis for axis in axes.of_cells() if axis.name not in _ELSEWHERE]
    for name in request.values.keys() - {axis.name for axis in axes.every()}:
        if any(number > 1 for number in request.numbers_on(name)):
            raise UserError(f"This kbench does not have the feature that measures with several {name}.")
    asked = {axis.name: request.numbers_on(axis.name) if axis.number else request.on(axis.name) for axis in others}
    return {axis.name: of_example.get(axis.name) or asked[axis.name] for axis in others}


def _samples(example: Example, request: Request) -> int:
    """Those of the profile; by settings so many that their steps fit, of the largest batch, as far as it goes."""
    samples = example.profiles[request.profile].samples
    if not request.example_settings:
        return samples
    steps = 1 if request.profile == "smoke" else request.steps or 1
    largest = max(request.numbers_on(BATCH_SIZE) or (example.batch_size,))
    most = largest * steps if example.own_data else example.profiles["full"].samples
    return max(samples, min(largest * steps, most))


def _batch_sizes(example: Example, request: Request, samples: int) -> list[int]:
    """The batch sizes; MAX stands for twice the largest other one, and so on until an epoch is a single batch."""
    found = [*request.numbers_on(BATCH_SIZE)] or [example.batch_size]
    while MAX in request.on(BATCH_SIZE) and 2 * found[-1] <= samples:
        found.append(2 * found[-1])
    return found


def _of_example(example: Example, request: Request, values: Mapping[str, Value]) -> dict[str, Any]:
    """The fields of a task that come from its example, the request and the point."""
    if example.task == SCRIPT:
        counts = dict.fromkeys(("validation_samples", "epochs"), 0)  # found, not asked for
        return {**_of_file(example), **counts, "profile": SCRIPT, "timeout": request.timeout or SCRIPT_SECONDS}
    profile = example.profiles[request.profile]
    batch_size, samples = axes.multiplied(BATCH_SIZE, values), int(values[SAMPLES])
    limit = None if example.own_data or example.data.endswith(".npz") else example.profiles["full"].samples
    if limit is not None and samples > limit:
        raise UserError(f"--samples {samples}: {example.name} has {limit} samples; ask for that many or fewer.")
    if samples < batch_size:
        raise UserError(
            f"{example.name}: {samples} samples are fewer than one batch of {batch_size}; "
            "give more --samples or a smaller --batch-size."
        )
    epochs = request.epochs or profile.epochs
    validation = profile.validation_samples if example.task == TRAIN else 0
    all_samples = (samples + validation) * epochs
    estimate = min(START_SECONDS + all_samples * SAMPLE_SECONDS[example.task], LONGEST_SECONDS)
    return {
        **_of_file(example),
        "profile": request.profile,
        "validation_samples": validation,
        "epochs": epochs,
        "augment": request.augment and example.augmentation and example.task == TRAIN,
        "timeout": request.timeout or estimate,
    }


def _of_file(example: Example) -> dict[str, Any]:
    return {"example_sha256": example.sha256, "input": example.input, "parameters": example.parameters}


def fields_of_backend(
    backend: Backend, task: str, request: Request, device: Device
) -> tuple[dict[str, Any], Outcome | None]:
    """The fields of a task that come from its backend, and the outcome if it cannot run."""
    same = (
        "keras_backend",
        "recurrent",
        "fixed_batch",
        "ordered_updates",
        "corrected_normalization",
        "jit",
        "policy",
    )
    of_kind = {} if backend.kind == KERAS else {name: getattr(backend, name) for name in OF_OTHERS}
    made: dict[str, Any] = {
        **of_kind,
        **{name: getattr(backend, name) for name in same},
        "sources": {name: sources.sha256(folder / name) for name, folder in backend.sources.items()},
    }
    choice = request.python(backend.name)
    as_is = choice is not None and choice.as_is
    try:
        if task not in backend.can and (task != SCRIPT or backend.kind == EXPORT):  # unknown for a script
            raise Unsupported(backend.cannot or f"{backend.name} cannot {task}")
        of_its_build = of_build(pick_build(backend, device, as_is=as_is), backend.distribution, as_is)
    except Unsupported as error:
        return made, Outcome(UNSUPPORTED, str(error))
    except Unavailable as error:
        return made, Outcome(UNAVAILABLE, str(error))
    of_its_build["variables"] = masked_variables({**backend.variables, **of_its_build["variables"]})
    # The user's own source has another version than the lock file.
    packages = {"keras": {"keras"}, "backend": {backend.keras_backend, backend.module, backend.distribution}}
    unlocked = [name for name, names in packages.items() if names & backend.sources.keys()]
    if not backend.keras_backend:  # to which Keras, which a framework may bring along, is a package like any other
        unlocked.append("keras")
    for name in unlocked:
        of_its_build["versions"].pop(name, None)
    return {**made, **of_its_build}, None


def _in_place(
    row: CellTask, example: Example, backend: Backend, device: Device, backends: Sequence[Backend]
) -> tuple[CellTask, Outcome | None]:
    """The row with what it measures in place of the example's file, and the outcome if it can measure nothing."""
    try:
        found = hooks.in_place(row, example, backend, device, backends)
    except Unsupported as error:
        return row, Outcome(UNSUPPORTED, str(error))
    if found is not None:
        return replace(row, in_place_sha256=found.sha256, constants=found.constants), None
    lacking = Outcome(UNSUPPORTED, f"this kbench has no feature that measures {backend.kind} backends")
    return row, None if backend.kind == KERAS or hooks.guest_driver(row) else lacking


def _layouts(example: Example, backend: Backend, asked: Sequence[Value], device: Device) -> list[str]:
    """The image_data_formats to run, each once."""
    if example.task == SCRIPT or example.input != "image":  # Keras's default, which a Conv1D has, too
        return [CHANNELS_LAST]
    meant: dict[str, list[str]] = {"both": [CHANNELS_FIRST, CHANNELS_LAST], "native": [backend.layout_on(device)]}
    return list(dict.fromkeys(layout for one in map(str, asked) for layout in meant.get(one, [one])))
