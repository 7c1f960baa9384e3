"""Plans a run: its cells, their order and environments, and which cells are known not to work."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from kbench import paths
from kbench.datasets import Origin
from kbench.environments import locks
from kbench.errors import Unavailable, Unsupported, UserError
from kbench.machine import devices
from kbench.masking import masked_variables
from kbench.planning.request import LAST_SEED, Request
from kbench.planning.tasks import CellTask, guest_sha256, of_build, start_of_sha256
from kbench.selection import examples, scripts, sources, twins, variants
from kbench.selection.builds import pick_build
from kbench.values import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    NATIVE,
    OK,
    SCRIPT,
    UNAVAILABLE,
    UNSUPPORTED,
    Backend,
    Build,
    Cell,
    Device,
    Example,
    Measured,
    Outcome,
    base,
)

# Time limits only catch cells that hang. The slowest cells of the reference run took 0.02 s per training sample,
# 0.7 s per sample of ResNet-50's inference, and 160 s to compile.
START_SECONDS = 900.0  # for imports, compilation and exit
SAMPLE_SECONDS = {"train": 0.2, "infer": 5.0}
SCRIPT_SECONDS = 3600.0
LONGEST_SECONDS = 48 * 3600.0


@dataclass(frozen=True)
class Plan:
    """The cells of a run in the order in which they run."""

    request: Request
    device: Device
    tasks: tuple[CellTask, ...]
    verdicts: Mapping[str, Outcome]  # of cells that cannot run, by id
    backends: tuple[Backend, ...]
    examples: tuple[Example, ...]
    frameworks: frozenset[str] = frozenset()  # the keras.json names of all backends
    data: Mapping[str, Origin] = field(default_factory=dict)  # by name of a published dataset, once it is chosen

    def to_measure(self) -> tuple[CellTask, ...]:
        """The tasks without a verdict."""
        return tuple(task for task in self.tasks if task.id not in self.verdicts)

    def in_turns(self) -> bool:
        """Whether the cells of an example run side by side. Not on a GPU, because frameworks take all its memory."""
        compares = any(task.parity is None for task in self.to_measure())
        return compares and self.request.interleave == "on" and self.device.kind == "cpu"

    def environments(self) -> list[tuple[Backend, Build]]:
        """The backends and builds that the cells need, each once."""
        needed = {(task.backend, task.build): None for task in self.to_measure()}
        builds = {(one.name, build.name): (one, build) for one in self.backends for build in one.builds}
        return [builds[names] for names in needed]


def make(
    request: Request,
    known: Mapping[str, Backend],
    gpus: Sequence[Device],
    task: str = "",
    report: Callable[[str], None] = lambda line: None,
) -> Plan:
    """The plan for a request, from the current files of backends and examples; `task` replaces the examples' own.

    `report` gets a line if versions have to be found first. Raises UserError if a number does not fit an example, or
    if a backend, an example or the device does not exist.
    """
    device = devices.choose(request.device, gpus)
    chosen = tuple(_backend(name, known, device, report) for name in request.backends)
    load = partial(scripts.load, module=request.script.module) if request.script else examples.load
    loaded = tuple(load(paths.expanded(path)) for path in request.examples)
    if request.augment and not any(example.augmentation for example in loaded):
        raise UserError("--augment: none of the chosen examples says how its pictures are augmented.")
    if request.seed_of(request.repeats) > LAST_SEED:
        raise UserError(
            f"--seeds different: {request.repeats} seeds from {request.seed} on go beyond {LAST_SEED:,}; "
            "choose a smaller --seed."
        )
    tasks, verdicts = [], {}
    passed = {name: start_of_sha256(value) for name, value in request.passed().items()}
    for example in loaded:
        of_example = _of_example(replace(example, task=task or example.task), request)
        repeats = {
            one.name: {*range(1, request.repeats + 1), *request.further.get(f"{example.name} {one.name}", ())}
            for one in chosen
        }
        for repeat in sorted(set[int]().union(*repeats.values())):
            for backend in (one for one in _rotated(chosen, repeat - 1) if repeat in repeats[one.name]):
                of_backend, verdict = _of_backend(backend, of_example["task"], request, device)
                of_twin, unwritten = _of_twin(example, backend, request)
                verdict = verdict or unwritten
                for layout in _layouts(example, backend, request.image_data_format, device):
                    made = CellTask(
                        image_data_format=layout,
                        device=device.label,
                        repeat=repeat,
                        seed=request.seed_of(repeat),
                        threads=request.threads,
                        init=request.init,
                        passed=passed,
                        memory_limit_mib=request.memory_limit_mib,
                        script=None if request.script is None else request.script.kept(),
                        guest_sha256=guest_sha256(),
                        **of_example,
                        **of_backend,
                        **of_twin,
                    )
                    tasks.append(made)
                    if verdict is not None:
                        verdicts[made.id] = verdict
                    elif backend.kind == NATIVE and example.input == "image" and layout != _native(backend, device):
                        verdicts[made.id] = Outcome(UNSUPPORTED, f"its twins compute with {_native(backend, device)}")
    frameworks = frozenset(backend.keras_backend for backend in known.values() if backend.keras_backend)
    return Plan(request, device, tuple(tasks), verdicts, chosen, loaded, frameworks)


def _backend(name: str, known: Mapping[str, Backend], device: Device, report: Callable[[str], None]) -> Backend:
    """The backend or variant, with the lock file for this device."""
    backend = known.get(base(name))
    if backend is None:
        raise UserError(f"There is no backend {name} any more: start a new run without it.")
    return locks.locked(variants.named(name, backend), device.kind, report)


def acceptable(
    named_backends: Collection[str], named_examples: Collection[str], measured: Iterable[Measured]
) -> bool:
    """Whether a run counts as ok: each cell is ok, or cannot be measured here and was not named by the user.

    `unavailable` counts as a failure if the backend was named, `unsupported` if backend and example were.
    """

    def fails(cell: Cell, status: str) -> bool:
        named = cell.backend in named_backends and (status == UNAVAILABLE or cell.example in named_examples)
        return named if status in (UNAVAILABLE, UNSUPPORTED) else status != OK

    return not any(fails(one.cell, one.outcome.status) for one in measured)


def _of_example(example: Example, request: Request) -> dict[str, Any]:
    """The fields of a task that come from its example and the request."""
    if example.task == SCRIPT:
        counts = dict.fromkeys(("batch_size", "samples", "validation_samples", "epochs"), 0)  # found, not asked for
        return {**_of_file(example), **counts, "profile": SCRIPT, "timeout": request.timeout or SCRIPT_SECONDS}
    profile = example.profiles[request.profile]
    batch_size = request.batch_size or example.batch_size
    samples = request.samples or profile.samples
    limit = None if example.own_data or example.data.endswith(".npz") else example.profiles["full"].samples
    if limit is not None and samples > limit:
        raise UserError(f"--samples {samples}: {example.name} has {limit} samples; ask for that many or fewer.")
    if samples < batch_size:
        raise UserError(
            f"{example.name}: {samples} samples are fewer than one batch of {batch_size}; "
            "give more --samples or a smaller --batch-size."
        )
    epochs = request.epochs or profile.epochs
    all_samples = (samples + profile.validation_samples) * epochs
    estimate = min(START_SECONDS + all_samples * SAMPLE_SECONDS[example.task], LONGEST_SECONDS)
    return {
        **_of_file(example),
        "profile": request.profile,
        "batch_size": batch_size,
        "samples": samples,
        "validation_samples": profile.validation_samples,
        "epochs": epochs,
        "augment": request.augment and example.augmentation,
        "timeout": request.timeout or estimate,
    }


def _of_file(example: Example) -> dict[str, Any]:
    same = {name: getattr(example, name) for name in ("task", "input", "parameters")}
    return {"example": example.name, "example_sha256": example.sha256, **same}


def _of_backend(
    backend: Backend, task: str, request: Request, device: Device
) -> tuple[dict[str, Any], Outcome | None]:
    """The fields of a task that come from its backend, and the outcome if it cannot run."""
    same = ("keras_backend", "recurrent", "fixed_batch", "ordered_updates", "jit", "policy")
    made: dict[str, Any] = {
        "backend": backend.name,
        **{name: getattr(backend, name) for name in same},
        "sources": {name: sources.sha256(folder / name) for name, folder in backend.sources.items()},
    }
    choice = request.python(backend.name)
    as_is = choice is not None and choice.as_is
    try:
        if task not in backend.can and task != SCRIPT:  # unknown for a script
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
    if backend.kind == NATIVE:  # to which Keras, which a framework may bring along, is a package like any other
        unlocked.append("keras")
    for name in unlocked:
        of_its_build["versions"].pop(name, None)
    return {**made, **of_its_build}, None


def _of_twin(example: Example, backend: Backend, request: Request) -> tuple[dict[str, Any], Outcome | None]:
    """The fields of a native backend's task that come from the twin, and the outcome if there is none."""
    if backend.kind != NATIVE:
        return {}, None
    made: dict[str, Any] = {"kind": NATIVE, "framework": backend.framework, "module": backend.module}
    try:
        twins.check(example, request.init)
        made["twin_sha256"] = twins.sha256(twins.path_of(example, backend), example.task)
    except Unsupported as error:
        return made, Outcome(UNSUPPORTED, str(error))
    return {**made, "constants": twins.constants(example)}, None


def _rotated(backends: Sequence[Backend], by: int) -> list[Backend]:
    """Each repeat starts with another backend, so that a drift of the machine does not always affect the same one."""
    shift = by % len(backends)
    return [*backends[shift:], *backends[:shift]]


def _layouts(example: Example, backend: Backend, asked: str, device: Device) -> list[str]:
    """The image_data_formats to run."""
    if example.task == SCRIPT or example.input != "image":  # Keras's default, which a Conv1D has, too
        return [CHANNELS_LAST]
    if asked == "both":
        return [CHANNELS_FIRST, CHANNELS_LAST]
    return [_native(backend, device) if asked == "native" else asked]


def _native(backend: Backend, device: Device) -> str:
    """The image_data_format that the backend is made for."""
    return backend.gpu_image_data_format if device.kind == "gpu" else backend.image_data_format
