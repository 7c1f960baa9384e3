"""From a request to a plan: which cells, in which order, in which environments, and what is known not to work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kbench.environments.interpreters import Choice
from kbench.errors import Unsupported, UserError
from kbench.machine.host import visible_cores
from kbench.selection.builds import pick_build
from kbench.selection.names import Backends, Examples
from kbench.values import (
    CHANNELS_FIRST,
    CHANNELS_LAST,
    OK,
    UNAVAILABLE,
    UNSUPPORTED,
    Backend,
    Build,
    Cell,
    Device,
    Example,
    Outcome,
)

NATIVE = "native"
BOTH = "both"
# Whether repeats begin from the same weights and see the data in the same order, or each from its own seed.
SAME = "same"
DIFFERENT = "different"
LAST_SEED = 2**32 - 1  # what numpy takes
FORMATS = (NATIVE, CHANNELS_FIRST, CHANNELS_LAST, BOTH)
PROFILES = ("smoke", "quick", "full")
# Limits are against a hang, not against slowness. The slowest cell of the reference run takes 0.02 s a sample that
# it trains on and 0.7 s one that goes through ResNet-50, and compiling its model took up to 160 s.
START_SECONDS = 900.0  # to import, to compile, to end
SAMPLE_SECONDS = {"train": 0.2, "infer": 5.0}
LONGEST_SECONDS = 48 * 3600.0


@dataclass(frozen=True)
class Request:
    """What the user asked for, beyond names; None leaves the number to the profile or the example."""

    profile: str = "quick"
    image_data_format: str = NATIVE
    repeats: int = 1
    seed: int = 0
    seeds: str = SAME
    epochs: int | None = None
    samples: int | None = None
    batch_size: int | None = None
    augment: bool = False
    init: str = "seeded"
    timeout: float | None = None  # seconds; None: as each cell's samples and epochs let expect
    memory_limit_mib: float | None = None  # of a cell
    threads: int | None = None  # of a cell; None: the cores that this process may run on
    data_source: str = "real"
    data_dir: Path | None = None
    pass_env: tuple[str, ...] = ()  # further variables of the user's that cells get, by name
    baseline: str = ""  # full name of the backend with which the others are compared, beside the fastest

    def passed(self, variables: Mapping[str, str]) -> dict[str, str]:
        """The variables of `pass_env`, as far as they are set."""
        return {name: variables[name] for name in self.pass_env if name in variables}


@dataclass(frozen=True)
class PlannedCell:
    """A cell with all that launching it needs; `verdict` is set where it is known not to run."""

    cell: Cell
    example: Example
    backend: Backend
    build: Build | None
    verdict: Outcome | None = None


@dataclass(frozen=True)
class Plan:
    """The cells of a run in the order in which they run."""

    request: Request
    device: Device
    cells: tuple[PlannedCell, ...]
    backends: tuple[Backend, ...]
    examples: tuple[Example, ...]
    named_backends: frozenset[str]
    named_examples: frozenset[str]
    pythons: Mapping[str, Choice]

    @property
    def threads(self) -> int:
        """CPU threads that a cell is given."""
        return self.request.threads or cores()

    def environments(self) -> list[tuple[Backend, Build]]:
        """The backends' builds that the cells need, each once."""
        found: dict[str, tuple[Backend, Build]] = {}
        for planned in self.cells:
            if planned.verdict is None and planned.build is not None:
                found.setdefault(planned.backend.name, (planned.backend, planned.build))
        return list(found.values())


def make(
    backends: Backends, examples: Examples, request: Request, device: Device, pythons: Mapping[str, Choice]
) -> Plan:
    """The plan for a request. Raises UserError where a number does not fit an example."""
    if request.augment and not any(example.augmentation for example in examples.chosen):
        raise UserError("--augment: none of the chosen examples says how its pictures are augmented.")
    if seeds(request)[-1] > LAST_SEED:
        raise UserError(
            f"--seeds {DIFFERENT}: {request.repeats} seeds from {request.seed} on go beyond {LAST_SEED:,}; "
            "choose a smaller --seed."
        )
    cells = []
    for example in examples.chosen:
        counts = _counts(example, request)
        for repeat in range(1, request.repeats + 1):
            for backend in _rotated(backends.chosen, repeat - 1):
                for layout in _layouts(example, backend, request.image_data_format, device):
                    cell = replace(
                        counts,
                        backend=backend.name,
                        image_data_format=layout,
                        device=device.label,
                        repeat=repeat,
                        seed=seeds(request)[repeat - 1],
                    )
                    cells.append(_planned(cell, example, backend, device, pythons))
    return Plan(
        request=request,
        device=device,
        cells=tuple(cells),
        backends=backends.chosen,
        examples=examples.chosen,
        named_backends=backends.named,
        named_examples=examples.named,
        pythons=pythons,
    )


def timeout(cell: Cell, task: str) -> float:
    """Seconds after which the cell of an example with this task is ended, where the user says nothing."""
    samples = (cell.samples + cell.validation_samples) * max(1, cell.epochs)
    return min(START_SECONDS + samples * SAMPLE_SECONDS[task], LONGEST_SECONDS)


def seeds(request: Request) -> list[int]:
    """The seed of each repeat: alike for all backends."""
    step = 1 if request.seeds == DIFFERENT else 0
    return [request.seed + step * number for number in range(request.repeats)]


def acceptable(plan: Plan, planned: PlannedCell, outcome: Outcome) -> bool:
    """Whether the run still counts as ok: the cell is, or cannot be measured here and nobody asked for it by name.

    `unavailable` counts against a backend that was named, `unsupported` against a backend and example both named.
    """
    named = planned.backend.name in plan.named_backends
    if outcome.status == UNAVAILABLE:
        return not named
    if outcome.status == UNSUPPORTED:
        return not (named and planned.example.name in plan.named_examples)
    return outcome.status == OK


def _counts(example: Example, request: Request) -> Cell:
    """The cell's numbers, before it has a backend."""
    profile = example.profiles[request.profile]
    full = example.profiles["full"]
    batch_size = request.batch_size or example.batch_size
    samples = request.samples or profile.samples
    limit = None if example.data.endswith(".npz") else full.samples
    if limit is not None and samples > limit:
        raise UserError(f"--samples {samples}: {example.name} has {limit} samples; ask for that many or fewer.")
    if samples < batch_size:
        raise UserError(
            f"{example.name}: {samples} samples are fewer than one batch of {batch_size}; "
            "give more --samples or a smaller --batch-size."
        )
    return Cell(
        example=example.name,
        backend="",
        image_data_format="",
        device="",
        repeat=0,
        profile=profile.name if request.profile == profile.name else request.profile,
        batch_size=batch_size,
        samples=samples,
        validation_samples=profile.validation_samples,
        epochs=request.epochs or profile.epochs,
        seed=request.seed,
    )


def _rotated(backends: Sequence[Backend], by: int) -> list[Backend]:
    """Another backend begins in each repeat, so that a drift of the machine does not always hit the same one."""
    shift = by % len(backends)
    return [*backends[shift:], *backends[:shift]]


def _layouts(example: Example, backend: Backend, asked: str, device: Device) -> list[str]:
    """The image_data_formats to run; an example without pictures runs in the native one alone."""
    native = backend.gpu_image_data_format if device.kind == "gpu" else backend.image_data_format
    if example.input != "image" or asked == NATIVE:
        return [native]
    return [CHANNELS_FIRST, CHANNELS_LAST] if asked == BOTH else [asked]


def _planned(
    cell: Cell, example: Example, backend: Backend, device: Device, pythons: Mapping[str, Choice]
) -> PlannedCell:
    choice = pythons.get(backend.name)
    try:
        if example.task not in backend.can:
            raise Unsupported(backend.cannot or f"{backend.name} cannot {example.task}")
        build = pick_build(backend, device, as_is=choice is not None and choice.as_is)
    except Unsupported as error:
        return PlannedCell(cell, example, backend, None, Outcome(UNSUPPORTED, str(error)))
    return PlannedCell(cell, example, backend, build)


def cores() -> int:
    """The whole cores that this process may use, by affinity and by its container's quota."""
    return max(1, int(visible_cores() or 1))
