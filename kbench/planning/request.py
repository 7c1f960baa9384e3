"""The request of the user, which run.json keeps and `resume` reads."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from kbench.base import paths
from kbench.base.masking import masked_arguments, without_passwords
from kbench.environments.interpreters import Choice
from kbench.errors import UserError
from kbench.machine.host import visible_cores
from kbench.planning.settings import Settings, Values
from kbench.planning.tasks import start_of_sha256
from kbench.records import axes
from kbench.records.axes import Value
from kbench.records.values import INFER, Example, base
from kbench.selection.variants import named_arguments

BUDGET = 600.0  # seconds, by default
LAST_SEED = 2**32 - 1  # what numpy takes

SAME_BATCH: Final = "same-batch"
OTHER_JIT: Final = "other-jit"
MAX: Final = "max"

Names = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Positive = Annotated[float, msgspec.Meta(gt=0)]


def cores() -> tuple[int]:
    """The number of whole cores that this process may use, by affinity and its container's quota."""
    return (max(1, int(visible_cores() or 1)),)


@dataclass(frozen=True)
class ChosenPython:
    """A backend's Python, chosen by --python."""

    path: str  # the home folder is written as `~`
    as_is: bool


@dataclass(frozen=True)
class Script:
    """How a user's program is run."""

    arguments: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()  # further arguments, each of a variant of every backend
    compare_lines: tuple[Count, ...] = ()  # of the program, which are compared with each other
    module: str = ""  # its name for `python -m`, if it is run as a part of a package
    workdir: Literal["copy", "same"] = "copy"
    keep_files: bool = False  # the copies of its folder
    packages: tuple[str, ...] = ()  # requirements in addition to those of the backends
    left_out: tuple[str, ...] = ()  # its own requirements that are kbench's: Keras and frameworks
    requires_python: str = ""  # as the program has it
    max_epochs: Count | None = None  # of each fit
    max_steps: Count | None = None  # of each epoch
    figures: tuple[str, ...] = ()  # that it computes itself: variables, or patterns of what it prints
    # A change that may tell why rows differ: only the first batch, or run_eagerly off or else jit_compile inverted.
    variant: Literal["", "same-batch", "other-jit"] = ""  # SAME_BATCH, OTHER_JIT

    def kept(self) -> dict[str, Any]:
        """It as results keep it: with masked secrets, and the start of a hash of what was masked."""
        masked: dict[str, Any] = {
            "arguments": masked_arguments(self.arguments),
            "packages": tuple(map(without_passwords, self.packages)),
        }
        of_secrets = {}
        if masked != {"arguments": self.arguments, "packages": self.packages}:
            of_secrets["secrets"] = start_of_sha256(json.dumps([self.arguments, self.packages]))
        return {**asdict(self), **masked, **of_secrets}

    def of_variant(self, named: str) -> tuple[str, ...]:
        """The further arguments of the variant that is called so; none where none is."""
        return next((tuple(shlex.split(one)) for one in self.variants if named_arguments(one) == named), ())


@dataclass(frozen=True, kw_only=True)
class Request:
    """The request for a run, in the form of its JSON. None leaves a number to the profile or the example."""

    backends: Names  # full names
    examples: Names  # files; the home folder is written as `~`
    named_backends: tuple[str, ...] = ()  # those that the user named one by one, not as a group
    named_examples: tuple[str, ...] = ()
    pythons: Mapping[str, ChosenPython] = field(default_factory=dict)  # by backend
    # Axis -> what is measured on it: a row for each combination. An axis that is left out takes what is usual, or is
    # left to the profile or the example.
    values: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    threads_each: bool = False  # whether each worker has so many threads; else several workers divide them
    worker_per_machine: bool = False  # whether several workers of a cell are on as many machines
    example_settings: Mapping[str, Settings] = field(default_factory=dict)  # by example, instead of the above
    steps: Count | None = None  # of an example's settings: an epoch has at least so many
    profile: Literal["smoke", "quick", "full"] = "quick"
    repeats: Count = 1
    processes: Count = 3  # of a row: a whole one, and others that only time some steps; fewer if starting takes long
    # A row is repeated until it differs from the fastest or its ratio is known to within this; None: never.
    precision: Positive | None = None
    budget: Positive | None = None  # seconds of all cells together, after which nothing is repeated
    # Row (its id) -> repeats added so far
    extra_repeats: Mapping[str, tuple[Count, ...]] = field(default_factory=dict)
    # Row (its id) -> (repeat, number) of the processes that only time some steps, added so far
    short: Mapping[str, tuple[tuple[Count, Count], ...]] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict)  # what features were asked for: their options, by name
    interleave: Literal["on", "off"] = "on"  # whether the cells of an example run side by side, in turns
    seed: Annotated[int, msgspec.Meta(ge=0, le=LAST_SEED)] = 0
    seeds: Literal["same", "different"] = "same"
    epochs: Count | None = None
    augment: bool = False
    init: Literal["seeded", "backend"] = "seeded"  # initial weights: the same on all backends, or each backend's own
    timeout: Positive | None = None  # seconds, of a cell; None: estimated from its samples and epochs
    memory_limit_mib: Positive | None = None  # of a cell
    data_source: Literal["auto", "real", "synthetic"] = "auto"  # auto: real, or synthetic where there are none
    data_sources: Mapping[str, Literal["real", "synthetic"]] = field(default_factory=dict)  # of the run, by dataset
    data_dir: str | None = None  # a folder with the published files
    pass_env: tuple[str, ...] = ()  # names of further environment variables for cells
    script: Script | None = None  # if `examples` is a user's program
    baseline: str = ""  # full name of the backend of --baseline

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _usual() | {name: of for name, of in self.values.items() if of})

    def at(self, **values: tuple[Value, ...]) -> Request:
        """The request with these values on these axes."""
        return replace(self, values={**self.values, **values})

    def on(self, axis: str) -> tuple[Value, ...]:
        """The values on an axis; empty if they are left to the profile or the example."""
        return self.values.get(axis, ())

    def numbers_on(self, axis: str) -> tuple[int, ...]:
        """Those that are numbers, the smallest first, each once."""
        return tuple(sorted({one for one in self.on(axis) if isinstance(one, int)}))

    def of(self, example: str, task: str) -> Request:
        """The request for one example and task, by its settings."""
        if example not in self.example_settings:
            return self
        given = self._settings_of(example, task)
        values = {axis.name: of for axis in axes.of_cells() if (of := getattr(given, axis.name, ()))}
        each = self.threads_each or bool(given.threads)
        return replace(self.at(**values), steps=given.steps or self.steps, threads_each=each)

    def tasks_of(self, example: Example) -> tuple[str, ...]:
        """What is to be done with the example. Inference is possible with any, training not."""
        asked = self.example_settings.get(example.name, Settings()).task or self.on(axes.TASK) or (example.task,)
        return (INFER,) if INFER in asked and example.task == INFER else tuple(dict.fromkeys(map(str, asked)))

    def sources_of(self, example: str, task: str) -> tuple[str, ...]:
        """Whether its settings ask for real data, synthetic ones, or both; empty if they leave that to the run."""
        return self._settings_of(example, task).data

    def _settings_of(self, example: str, task: str) -> Values:
        settings = self.example_settings.get(example, Settings())
        return settings.infer if task == INFER else settings.train

    def seed_of(self, repeat: int) -> int:
        """The seed of a repeat (1, 2, ...): the same for all backends."""
        return self.seed + (repeat - 1) * (self.seeds == "different")

    def passed(self) -> dict[str, str]:
        """The variables of `pass_env` with their values. Raises UserError if one is not set."""
        for name in self.pass_env:
            if name not in os.environ:
                raise UserError(f"The run's cells need the variable {name} (--pass-env), which is not set: set it.")
        return {name: os.environ[name] for name in self.pass_env}

    def python(self, backend: str) -> Choice | None:
        """The Python that --python chose for the backend, if any."""
        chosen = self.pythons.get(backend) or self.pythons.get(base(backend))
        return None if chosen is None else Choice(paths.with_home(chosen.path), chosen.as_is)

    @property
    def data_folder(self) -> Path | None:
        """The folder with the published files, if any."""
        return None if self.data_dir is None else paths.with_home(self.data_dir)


def _usual() -> dict[str, tuple[Value, ...]]:
    """What is measured on an axis where nothing is asked for, as far as that is the same for all examples."""
    found = {axis.name: (axis.default,) for axis in axes.every() if axis.asked and axis.default is not None}
    return {**found, axes.DEVICE: ("cpu",), axes.LAYOUT: ("native",), axes.THREADS: cores()}


def read(asked: object, run: Path) -> Request:
    """The request in the run.json of `run`. Raises UserError."""
    if not isinstance(asked, dict) or "backends" not in asked:
        raise UserError(f"{run} is from an older version, which did not keep its options: start a new run.")
    try:
        found = msgspec.convert(asked, Request)
        for name, values in found.values.items():
            asked_by = axes.by_name(name).asked
            if asked_by and not all(map(asked_by.accepts, values)):
                raise msgspec.ValidationError(f"its values of {name}")
        return found
    except msgspec.ValidationError as error:
        raise UserError(
            f"{run / 'run.json'} is damaged: what was asked for cannot be read from it ({error})."
        ) from None
