"""What the user asked for: one value, which run.json keeps as it stands and `resume` reads back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

import msgspec

from kbench import paths
from kbench.environments.interpreters import Choice
from kbench.errors import UserError
from kbench.machine.host import visible_cores
from kbench.values import base

OWN, BOTH = "native", "both"
# Whether repeats begin from the same weights and see the data in the same order, or each from its own seed.
SAME, DIFFERENT = "same", "different"
PRECISION, BUDGET = 0.1, 600.0  # if nothing else is asked for; seconds
LAST_SEED = 2**32 - 1  # what numpy takes

SAME_BATCH: Final = "same-batch"
OTHER_JIT: Final = "other-jit"
COPY = "copy"  # where a script runs: there, or in its own folder

Names = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Positive = Annotated[float, msgspec.Meta(gt=0)]


def cores() -> int:
    """The whole cores that this process may use, by affinity and by its container's quota."""
    return max(1, int(visible_cores() or 1))


@dataclass(frozen=True)
class ChosenPython:
    """A backend's Python, by --python."""

    path: str  # below the user's home folder it begins with `~`
    as_is: bool


@dataclass(frozen=True)
class Script:
    """How a user's program is run."""

    arguments: tuple[str, ...] = ()
    workdir: Literal["copy", "same"] = "copy"
    keep_files: bool = False  # the copies of its folder, with what it wrote there
    packages: tuple[str, ...] = ()  # requirements beside those of the backends
    shims: bool = False  # whether words of the other generation of Keras are served
    max_epochs: Count | None = None  # of each fit
    max_steps: Count | None = None  # of each epoch
    # How it is changed to find out what costs: its first batch again and again, or jit_compile the other way round.
    variant: Literal["", "same-batch", "other-jit"] = ""  # SAME_BATCH, OTHER_JIT


@dataclass(frozen=True, kw_only=True)
class Request:
    """A run as it was asked for; None leaves a number to the profile or the example. Its fields are its JSON."""

    backends: Names  # full names
    examples: Names  # files; below the user's home folder they begin with `~`
    named_backends: tuple[str, ...] = ()  # those that the user named one by one, and not as a group
    named_examples: tuple[str, ...] = ()
    pythons: Mapping[str, ChosenPython] = field(default_factory=dict)  # by backend
    device: str = "cpu"  # or "gpu:0"
    profile: Literal["smoke", "quick", "full"] = "quick"
    image_data_format: Literal["native", "channels_first", "channels_last", "both"] = "native"
    repeats: Count = 1
    # A row gets further processes until it differs from the fastest, or the ratio is known so well; None: never.
    precision: Positive | None = None
    budget: Positive | None = None  # seconds of all cells together, beyond which no process is added
    further: Mapping[str, tuple[Count, ...]] = field(
        default_factory=dict
    )  # "EXAMPLE BACKEND" -> repeats added so far
    interleave: Literal["on", "off"] = "on"  # whether the cells of an example run side by side, in turns
    seed: Annotated[int, msgspec.Meta(ge=0, le=LAST_SEED)] = 0
    seeds: Literal["same", "different"] = "same"
    epochs: Count | None = None
    samples: Count | None = None
    batch_size: Count | None = None
    augment: bool = False
    init: Literal["seeded", "backend"] = "seeded"  # initial weights: the same everywhere, or each backend's own
    timeout: Positive | None = None  # seconds, of a cell; None: estimated from its samples and epochs
    memory_limit_mib: Positive | None = None  # of a cell
    threads: Count = field(default_factory=cores)  # of a cell
    data_source: Literal["real", "synthetic"] = "real"
    data_dir: str | None = None  # a folder with the published files
    pass_env: tuple[str, ...] = ()  # names of further variables of the user's that cells get
    script: Script | None = None  # if `examples` is a user's program, run as it is
    baseline: str = ""  # full name of the backend with which the others are compared, beside the fastest

    def seed_of(self, repeat: int) -> int:
        """The seed of a repeat (1, 2, ...): the same for all backends."""
        return self.seed + (repeat - 1) * (self.seeds == DIFFERENT)

    def passed(self) -> dict[str, str]:
        """The variables of `pass_env` with their values. Raises UserError where one is not set."""
        for name in self.pass_env:
            if name not in os.environ:
                raise UserError(
                    f"The run's cells are given the variable {name} (--pass-env), which is not set here: set it."
                )
        return {name: os.environ[name] for name in self.pass_env}

    def python(self, backend: str) -> Choice | None:
        """The Python that --python gives the backend."""
        chosen = self.pythons.get(backend) or self.pythons.get(base(backend))
        return None if chosen is None else Choice(paths.expanded(chosen.path), chosen.as_is)

    @property
    def data_folder(self) -> Path | None:
        """The folder with the published files, if any."""
        return None if self.data_dir is None else paths.expanded(self.data_dir)


def read(asked: object, run: Path) -> Request:
    """The request that the run.json of `run` keeps. Raises UserError."""
    if not isinstance(asked, dict) or "backends" not in asked:
        raise UserError(f"{run} does not tell how it was asked for, as runs of older versions: measure it anew.")
    try:
        return msgspec.convert(asked, Request)
    except msgspec.ValidationError as error:
        raise UserError(
            f"{run / 'run.json'} is damaged: what was asked for cannot be read from it ({error})."
        ) from None
