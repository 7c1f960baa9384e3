"""The values that all wings share, such as Backend, Example and Cell. They are frozen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal, Self

from msgspec import Meta, Struct

from kbench.records import axes
from kbench.records.axes import RowKey, Value
from kbench.records.backend_keys import (
    Flag,
    Forms,
    Known,
    Layout,
    Pythons,
    Releases,
    Sources,
    Table,
    Text,
    Texts,
    Times,
    Variables,
)
from kbench.records.epochs import Count, Epoch
from kbench.records.findings import Finding
from kbench.records.reported import Facts

# Statuses of a cell, from best to worst.
OK = "ok"
UNSUPPORTED = "unsupported"
UNAVAILABLE = "unavailable"
TIMEOUT = "timeout"
FAILED = "failed"
INTERRUPTED = "interrupted"
STATUSES = (OK, UNSUPPORTED, UNAVAILABLE, TIMEOUT, FAILED, INTERRUPTED)

# The verdict on a row's steady time, compared with the fastest row or the baseline.
FASTEST = "fastest"
BASELINE = "baseline"
FASTER = "faster"
SLOWER = "slower"
AS_FAST = "as fast"  # to within the precision that was asked for
NO_DIFFERENCE = "no difference shown"  # open: more processes may show one, or that there is none
NOT_COMPARED = "not compared"  # nothing shows how sure the ratio is, or it is too unsure to say anything

PRECISION = 0.1  # rows whose ratio is known to lie within this are as fast as each other, by default

# What a row's interval is from: several processes, or the epochs of one.
REPEATS = "repeats"
EPOCHS = "epochs"

KERAS = "keras"  # the kind of a backend of Keras
NATIVE = "native"  # the kind of a backend without Keras, and the folder of its file
EXPORT = "export"  # the kind of one that runs what Keras has exported, and the folder of its file
IN_FULL = (NATIVE, EXPORT)  # the groups whose backends are named in full, and are not among `all`

TRAIN, INFER, SCRIPT = "train", "infer", "script"  # what is done: SCRIPT with a user's program

CHANNELS_FIRST = "channels_first"
CHANNELS_LAST = "channels_last"


@dataclass(frozen=True, kw_only=True)
class Build:
    """One way to install a backend: its packages for the CPU, or for a range of GPUs."""

    # "cpu", "cu100", ...: unique within the backend
    name: Annotated[
        str, Meta(pattern=r"\A[a-z0-9][a-z0-9_-]*\Z", description="a name of small letters and digits, such as cu112")
    ]
    device: Annotated[Literal["cpu", "gpu"], Meta(description="cpu or gpu")]
    requirements: Annotated[Texts, Meta(description='a list of requirements such as ["keras==3.15.1"]')]
    # exact versions and hashes; None if only the user's own environment can be used
    lock: Annotated[Path | None, Meta(description="the path of a lock file, from this file's folder")] = None
    leave_out: Texts = ()  # packages that those ask for, and that are not installed
    debian: Texts = ()  # packages of Debian, beside those
    debian_lock: Path | None = None  # their files and hashes
    # lowest and highest GPU architecture, inclusive
    compute_capability: Annotated[
        tuple[float, float] | None,
        Meta(description="the lowest and the highest GPU architecture, such as [3.5, 7.5]"),
    ] = None
    # lowest NVIDIA driver version; empty where none is known
    driver: Annotated[str, Meta(pattern=r"\A\d+(\.\d+)*\Z", description='a driver version such as "410.48"')] = ""
    indexes: Texts = ()  # further package indexes, used if the user's own fail
    variables: Variables = field(default_factory=dict)
    locked_variables: Variables = field(default_factory=dict)  # only if the locked packages are used
    note: Text = ""  # e.g. "not run on hardware"
    distribution: Text = ""  # the package whose version is the backend's version, in this build: "x-gpu"
    resolved: bool = False  # whether the user chose versions, for which a lock file is made

    @property
    def locks(self) -> tuple[Path, ...]:
        """All of its lock files."""
        return tuple(one for one in (self.lock, self.debian_lock) if one)


@dataclass(frozen=True, kw_only=True)
class Backend:
    """What `keras.json` calls a backend, in one generation; a framework without Keras; what runs exported models.

    In backends/<name>.toml.
    """

    name: str  # its file below backends/, without the ending
    generation: str  # "keras2"
    path: Path
    title: Text  # one line for people
    distribution: Text  # the package whose version is the backend's version (a build may name another)
    # usable Python versions, best first
    python: Pythons
    image_data_format: Layout  # its native one, on the CPU
    gpu_image_data_format: Layout  # its native one, on a GPU
    can: Annotated[frozenset[Literal["train", "infer"]], Meta(min_length=1, description="a list of train and infer")]
    cannot: Text = ""  # why it cannot do the rest, one sentence; empty if it can do all
    unavailable: Text = ""  # why kbench cannot install it, one sentence; empty if it can
    kind: Annotated[Literal["keras", "native", "export"], Meta(description="keras, native or export")] = "keras"
    keras_backend: Text = ""  # the value of `backend` in keras.json; empty without Keras
    # shared by a Keras backend and its native ones, so that their rows are compared; of an export: Keras's format
    framework: Text = ""
    module: Text = ""  # of a native one and of an export: what Python imports
    builds: tuple[Build, ...] = ()
    variables: Variables = field(default_factory=dict)  # of its cells; with PLACEHOLDERS
    tuned: Texts = ()  # those of its variables, builds' included, that only make it faster
    shared_libpython: Flag = False  # needs libpythonX.Y.so
    libraries: Table = field(default_factory=dict)  # library name -> file of the environment to use for it
    # library name -> C source next to the backend's file
    compiled: Sources = field(default_factory=dict)
    programs: Texts = ()  # programs that must be on PATH when it runs, such as "g++"
    compiles: Text = ""  # the folder of its compiled code for an example, with {example}
    # layer class -> the form to run, if the default computes something else
    recurrent: Forms = field(default_factory=dict)
    fixed_batch: Texts = ()  # layer classes that need the batch size in the graph
    # how its engine trains with several workers: devices of one process, or a process each; empty if it cannot
    workers: Annotated[Literal["devices", "processes", ""], Meta(description="devices or processes")] = ""
    workers_apart: Flag = False  # whether devices of it may also be those of processes on several machines
    one_machine: Text = ""  # why it takes no processes on several machines, one sentence without a full stop
    one_thread_each: Text = ""  # why workers on the CPU have one thread each, one sentence without a full stop
    no_workers: Text = ""  # why it cannot, one sentence without a full stop
    ordered_updates: Flag = False  # whether the guest must order gradients, updates and the step counter
    corrected_normalization: Flag = False  # whether the guest corrects how BatchNormalization trains
    reference: Flag = False  # whether `coverage` measures the others of its generation by it, in float64
    notes: Texts = ()  # notes for the reader of its rows
    # a release of Keras, such as "3.6" -> the framework's newest release then, and the month
    of_its_time: Times = field(default_factory=dict)
    releases: Releases = ()  # what other releases of a framework need that has a Keras of the same version
    beside_newer: Text = ""  # what a reader must know of it beside a newer generation of Keras, one sentence
    # Only of a variant.
    jit: str = ""  # "on", "off" or empty: Keras's jit_compile
    policy: str = ""  # Keras's dtype policy, such as "mixed_float16"
    arguments: str = ""  # further ones of a program, as the row's name has them
    sources: Mapping[str, Path] = field(default_factory=dict)  # a package's import name -> its local folder
    # the same in every plot
    color: Annotated[str, Meta(pattern=r"\A#[0-9a-fA-F]{6}\Z", description='a colour such as "#0072B2"')]
    formulas: Table = field(default_factory=dict)  # what backends compute differently -> its formula
    # known differences from the other backends
    explained: Known = ()

    @property
    def imported(self) -> tuple[str, ...]:
        """The packages that Python imports."""
        # Keras may be told a module of a package's.
        of_keras = ("keras", self.keras_backend.partition(".")[0]) if self.keras_backend else ()
        return (*of_keras, *filter(None, (self.module,)))

    def layout_on(self, device: Device) -> Layout:
        """The image_data_format that it is made for."""
        return self.gpu_image_data_format if device.kind == "gpu" else self.image_data_format


def bare(name: str) -> str:
    """A backend's name without its generation, which is enough where it is clear; some have to be named in full."""
    generation, _, short = name.partition("/")
    return "" if generation in IN_FULL else short


def base(name: str) -> str:
    """The backend's name without version and settings."""
    return axes.of_name(name)[axes.BACKEND]


def beside_others(sentences: Mapping[str, str]) -> list[str]:
    """Of {backend: what must be known of it beside another generation of Keras}: those that have one beside them."""
    generations = {name.partition("/")[0] for name in sentences} - {*IN_FULL}
    found = (text for name, text in sentences.items() if text and generations - {name.partition("/")[0]})
    return list(dict.fromkeys(found))


def is_among(backend: str, names: Collection[str]) -> bool:
    """Whether these names, of backends or of generations, stand for it; none stand for all."""
    return not names or bool({base(backend), backend.partition("/")[0]} & {*names})


class Profile(Struct, frozen=True, forbid_unknown_fields=True):
    """How much of an example is run: counts only, never another model or hyper-parameter."""

    samples: Annotated[int, Meta(ge=1)]
    epochs: Annotated[int, Meta(ge=1)]  # passes, if it only infers
    validation_samples: Annotated[int, Meta(ge=0)] = 0  # 0 without validation


@dataclass(frozen=True)
class Example:
    """One Keras model with its data and hyper-parameters; read from a file without running it."""

    name: str  # "mnist_cnn"
    title: str  # the docstring's first line
    path: Path
    task: str  # "train", "infer" or SCRIPT
    data: str  # a dataset's name, or the absolute path of an .npz file, or of the example itself if it has load_data
    input: str  # "image" (image_data_format applies), "flat" or "sequence"
    batch_size: int
    parameters: int | None  # of the model, if the file states them
    profiles: Mapping[str, Profile]
    sha256: str  # of the file
    augmentation: bool = False  # whether it defines an augmentation of its images
    published_weights: str = ""  # file name of published weights, used if the data folder has it
    constants: Mapping[str, object] = field(default_factory=dict)  # NAME = value at the top of the file
    functions: frozenset[str] = frozenset()  # at the top of the file
    target: str = ""  # the training time up to it is reported: "val_accuracy >= 0.99"
    core: bool = True  # whether it runs where no examples are named; of kbench's own

    @property
    def own_data(self) -> bool:
        """Whether the example defines load_data."""
        return self.data == str(self.path)


@dataclass(frozen=True)
class Environment:
    """A backend's own Python, ready to use."""

    backend: str
    build: str
    python: Path
    folder: Path | None  # None for the user's own environment
    variables: Mapping[str, str]
    lock_sha256: str
    compiles: str = ""  # the folder of compiled code for an example, with {example}; empty for none
    packages: Path | None = None  # a folder of further packages, for a script


@dataclass(frozen=True)
class Device:
    """Where a cell runs."""

    kind: str  # "cpu" or "gpu"
    index: int | None = None  # of the GPU, as the driver counts
    uuid: str = ""
    name: str = ""
    compute_capability: float | None = None
    driver: str = ""
    memory_mib: int | None = None

    @property
    def label(self) -> str:
        """What tables show: `cpu` or `gpu:0`."""
        return self.kind if self.index is None else f"{self.kind}:{self.index}"


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One measurement: a point, which is a value on each axis, once."""

    values: Mapping[str, Value]  # by axis; that of the backend is its whole name
    repeat: Count  # 1, 2, ...
    profile: str
    validation_samples: Count
    epochs: Count
    seed: int
    varied: tuple[str, ...] = ()  # the axes with several values in its run: its folder's name has these, too
    # Beside whole processes a repeat may have short ones, which only time some steps: 1, 2, ... A whole one has 0.
    timing: Count = 0
    counted: Mapping[str, Count] = field(default_factory=dict)  # samples and batch size of a program's line

    @property
    def example(self) -> str:
        """The name of its example, or of a program and its line."""
        return axes.example_and_line(self.values[axes.EXAMPLE], self.site)

    @property
    def site(self) -> str:
        """The line of a program that it is of; empty if it is of all."""
        return str(self.values[axes.SITE])

    @property
    def backend(self) -> str:
        """The full name of its backend, with version and settings."""
        return str(self.values[axes.BACKEND])

    @property
    def image_data_format(self) -> str:
        """CHANNELS_FIRST or CHANNELS_LAST."""
        return str(self.values[axes.LAYOUT])

    @property
    def device(self) -> str:
        """The label of its device: `cpu` or `gpu:0`."""
        return str(self.values[axes.DEVICE])

    @property
    def task(self) -> str:
        """What is done: "train", "infer" or SCRIPT."""
        return str(self.values[axes.TASK])

    @property
    def source(self) -> str:
        """Whether its data are "real" or "synthetic", where its suite asks for these; else empty: the run's."""
        return str(self.values[axes.DATA])

    @property
    def batch_size(self) -> int:
        """Of all workers together; of a program's line the one that was found; 0 if unknown."""
        return self.counted.get(axes.BATCH_SIZE) or axes.multiplied(axes.BATCH_SIZE, self.values)

    @property
    def samples(self) -> int:
        """In an epoch; of a program's line as many as were found; 0 if unknown."""
        return self.counted.get(axes.SAMPLES) or int(self.values[axes.SAMPLES])

    @property
    def threads(self) -> int:
        """Of each of its workers; 0 if unknown."""
        return int(self.values[axes.THREADS])

    @property
    def workers(self) -> int:
        """How many train together."""
        return int(self.values.get(axes.WORKERS, 1))

    def at(self, **values: Value) -> Self:
        """The cell with these values on these axes."""
        return replace(self, values={**self.values, **values})

    @property
    def place(self) -> tuple[int, int]:
        """Its process among those of its row."""
        return self.repeat, self.timing

    @property
    def id(self) -> str:
        """Unique in its run, and valid as a folder's name."""
        return f"{self.row_id}__r{self.repeat}{f't{self.timing}' if self.timing else ''}"

    @property
    def row_id(self) -> str:
        """The same for all its repeats."""
        generation, slash, name = self.backend.partition("/")
        backend = generation + slash + name.replace("/", "%2F").replace(":", "%3A")  # of a variant's values
        parts = (self.example, backend, self.image_data_format, self.device)
        name = "__".join(parts).replace("/", "-").replace(":", "")
        varied = (axes.file_part(*one) for one in self.values.items() if one[0] in self.varied)
        return "__".join([name, *varied])

    @property
    def key(self) -> RowKey:
        """The row that it belongs to."""
        return axes.key(tuple(self.values.items()), self.varied)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a cell."""

    status: str
    reason: str = ""  # one line; empty if the status is ok
    seconds: float | None = None  # wall clock of the guest's process
    exit_code: int | None = None
    tree_memory_mib: float | None = None  # peak of the guest's process and its descendants
    disturbed_rounds: tuple[int, ...] = ()  # rounds in which other programs took much of its turn
    device_memory_mib: float | None = None  # peak on the GPU; None on the CPU
    device_memory_source: str = ""  # whose that is: see kbench.machine.gpu_memory
    compilation_cached: bool = False  # it loaded what an earlier repeat had compiled
    out_of_memory: bool = False  # as far as can be told
    after_end: str = ""  # how its process ended after the last event, if not by itself and well; the status is ok
    last_event: str = ""  # the guest's last event, such as "epoch 2", if the status is not ok
    last_lines: tuple[str, ...] = ()  # of its log, if the status is not ok
    memory: tuple[tuple[float, float], ...] = ()  # (seconds, MiB of all its processes), at most one a second
    disturbed_again: tuple[int, ...] = ()  # as disturbed_rounds, of the turns that were taken again for those
    others: float | None = None  # of the cores' time while it ran, what other programs used

    def disturbed(self, number: int, again: int) -> bool:
        """Whether other programs took much of its turn in the round of this number."""
        return number in (self.disturbed_again if again else self.disturbed_rounds)


@dataclass(frozen=True)
class Measured:
    """A finished cell: the cell, its outcome, and the guest's report."""

    cell: Cell
    outcome: Outcome
    epochs: tuple[Epoch, ...] = ()
    phases: Mapping[str, float] = field(default_factory=dict)  # seconds: import, data, build, first_step, ...
    facts: Facts = field(default_factory=Facts)
    findings: tuple[Finding, ...] = ()  # what the host found out beside it


@dataclass(frozen=True)
class Interval:
    """The ends of a 95 % interval."""

    low: float
    high: float


@dataclass(frozen=True)
class BesideBest:
    """A row's final score beside the best one of its kind, over trainings with several seeds."""

    name: str  # such as "val_accuracy"
    mean: float
    best: str  # the backend with the best mean; its own, if that is this row
    seeds: int
    difference: Interval  # of its score less the best one's
