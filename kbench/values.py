"""The values that travel from the selection to the tables: small, frozen, without behaviour."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from kbench.backend_keys import QUANTITIES, Explanation, Flag, Layout, Table, Text, Texts, Variables
from kbench.epochs import Epoch

# Statuses of a cell, from best to worst.
OK = "ok"
UNSUPPORTED = "unsupported"
UNAVAILABLE = "unavailable"
TIMEOUT = "timeout"
FAILED = "failed"
INTERRUPTED = "interrupted"
STATUSES = (OK, UNSUPPORTED, UNAVAILABLE, TIMEOUT, FAILED, INTERRUPTED)

# What a row's steady time is shown to be, against the fastest row or the baseline.
FASTEST = "fastest"
BASELINE = "baseline"
FASTER = "faster"
SLOWER = "slower"
NO_DIFFERENCE = "no difference shown"

# What was resampled for a row's intervals.
REPEATS = "repeats"
EPOCHS = "epochs"

NATIVE = "native"  # the kind of a backend without Keras, and the folder of its file

SCRIPT = "script"  # the task of a user's program, beside "train" and "infer"

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
    lock: Path | None = None  # exact versions and hashes; None where only an environment of the user's own can serve
    # lowest and highest GPU architecture, inclusive
    compute_capability: Annotated[
        tuple[float, float] | None,
        Meta(description="the lowest and the highest GPU architecture, such as [3.5, 7.5]"),
    ] = None
    # lowest NVIDIA driver version; empty where none is known
    driver: Annotated[str, Meta(pattern=r"\A\d+(\.\d+)*\Z", description='a driver version such as "410.48"')] = ""
    indexes: Texts = ()  # further package indexes, tried only where the user's own have not got it
    variables: Variables = field(default_factory=dict)
    locked_variables: Variables = field(default_factory=dict)  # only where the locked packages are used
    note: Text = ""  # e.g. "not run on hardware"
    distribution: Text = ""  # the package whose version is the backend's version, in this build: "x-gpu"
    resolved: bool = False  # whether its versions are the user's, and its lock is made for them


@dataclass(frozen=True, kw_only=True)
class Backend:
    """What `keras.json` calls a backend, in one generation of Keras, or a framework without Keras ("native").

    Read from backends/<name>.toml.
    """

    name: str  # its file below backends/, without the ending
    generation: str  # "keras2"
    path: Path
    title: Text  # one line for people
    distribution: Text  # the package whose version is the backend's version (a build may name another)
    # usable Python versions, best first
    python: Annotated[
        tuple[Annotated[str, Meta(pattern=r"\A3\.\d+\Z")], ...],
        Meta(min_length=1, description='a list of Python versions such as ["3.11"]'),
    ]
    image_data_format: Layout  # its native one, on the CPU
    gpu_image_data_format: Layout  # its native one, on a GPU
    can: Annotated[frozenset[Literal["train", "infer"]], Meta(min_length=1, description="a list of train and infer")]
    cannot: Text = ""  # why it cannot do the rest, one sentence; empty where it can do all
    kind: Annotated[Literal["keras", "native"], Meta(description="keras or native")] = "keras"
    keras_backend: Text = ""  # the value of `backend` in keras.json; empty of a native one
    framework: Text = ""  # what a Keras backend and its native ones share: its row without Keras is found by that
    module: Text = ""  # of a native one: what Python imports
    builds: tuple[Build, ...] = ()
    variables: Variables = field(default_factory=dict)  # of its cells; with PLACEHOLDERS
    shared_libpython: Flag = False  # needs libpythonX.Y.so
    libraries: Table = field(default_factory=dict)  # library name -> file of the environment that stands in for it
    # library name -> C source next to the backend's file
    compiled: Annotated[Mapping[str, Path], Meta(description="a table of C sources beside it")] = field(
        default_factory=dict
    )
    programs: Texts = ()  # programs that must be on PATH when it runs, such as "g++"
    compiles: Text = ""  # the folder of what it compiles for an example at its first step and keeps, with {example}
    # layer class -> the form to run, where the default one computes something else
    recurrent: Annotated[
        Mapping[str, Literal["unrolled", "hidden state last"]],
        Meta(description='a table of layer classes, each "unrolled" or "hidden state last"'),
    ] = field(default_factory=dict)
    fixed_batch: Texts = ()  # layer classes that need the batch size in the graph
    ordered_updates: Flag = False  # whether the guest has to put gradients, updates and the step counter in order
    notes: Texts = ()  # what a reader of its rows should know
    # Of a variant, which no file says.
    jit: str = ""  # "on", "off" or empty: whether Keras compiles the model with XLA and the like
    policy: str = ""  # Keras's dtype policy, such as "mixed_float16"
    sources: Mapping[str, Path] = field(
        default_factory=dict
    )  # package as it is imported -> the user's folder that has it
    # the same in every plot
    color: Annotated[str, Meta(pattern=r"\A#[0-9a-fA-F]{6}\Z", description='a colour such as "#0072B2"')]
    # known differences from the other backends
    explained: Annotated[
        tuple[Explanation, ...],
        Meta(
            description="[[explained]] tables with `bound` (a number above 0), `reason`, `what` (some of "
            f"{', '.join(QUANTITIES)}) and, it may be, `layer`, `optimizer`, `with_layer` and `unlike`"
        ),
    ] = ()

    @property
    def imported(self) -> tuple[str, ...]:
        """The packages that Python imports."""
        return (self.module,) if self.kind == NATIVE else ("keras", self.keras_backend)


def bare(name: str) -> str:
    """A backend's name without its generation, which is enough where it is clear; a native one has none."""
    generation, _, short = name.partition("/")
    return "" if generation == NATIVE else short


def base(name: str) -> str:
    """The name of the backend of which `name` is another version or setting; its own if it is none."""
    return re.split(r"[@+]", name, maxsplit=1)[0]


@dataclass(frozen=True)
class Profile:
    """How much of an example is run: counts only, never another model or hyper-parameter."""

    name: str  # "smoke", "quick", "full"
    samples: int
    validation_samples: int  # 0 where nothing is validated
    epochs: int  # passes, where nothing is trained


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
    parameters: int | None  # weights of the model, where the file states them
    profiles: Mapping[str, Profile]
    sha256: str  # of the file
    augmentation: bool = False  # whether it says how its pictures are augmented
    published_weights: str = ""  # file name of published weights, used where the data folder has it
    constants: Mapping[str, object] = field(default_factory=dict)  # NAME = value at the top of the file
    functions: frozenset[str] = frozenset()  # at the top of the file
    target: str = ""  # training up to it is timed: "val_accuracy >= 0.99"

    @property
    def own_data(self) -> bool:
        """Whether its file makes its data, by load_data."""
        return self.data == str(self.path)


@dataclass(frozen=True)
class Data:
    """Arrays that lie ready for the guest: .npy files without pickles, in one layout."""

    name: str  # "mnist"
    source: str  # "real" or "synthetic"
    folder: Path
    train: tuple[str, ...]  # file names of the inputs, in the model's order: ("x_train.npy",)
    train_targets: tuple[str, ...]  # so too; one array of integers (samples,) holds class numbers; none where unknown
    validation: tuple[str, ...]
    validation_targets: tuple[str, ...]
    num_classes: int  # 0 where the targets are no class numbers
    divisor: float  # stored values are divided by this: 255.0 for pictures kept as uint8
    input_shapes: tuple[tuple[int, ...], ...]  # per input, without the batch axis
    sha256: str  # over all arrays: names, dtypes, shapes, bytes
    samples: int = 0  # to train on; 0 where nobody counted
    validation_samples: int = 0
    train_weights: str = ""  # file name of the samples' weights
    validation_weights: str = ""
    input_names: tuple[str, ...] = ()  # where inputs go by name
    target_names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Environment:
    """A backend's own Python, ready to use."""

    backend: str
    build: str
    python: Path
    folder: Path | None  # None where the user brought an environment of their own
    variables: Mapping[str, str]
    lock_sha256: str
    compiles: str = ""  # the folder of what it compiles for an example, with {example}; empty for none
    packages: Path | None = None  # a folder of further ones, for a script


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


@dataclass(frozen=True)
class Cell:
    """One measurement: an example on a backend, in one layout, on one device, once."""

    example: str
    backend: str
    image_data_format: str
    device: str
    repeat: int  # 1, 2, ...
    profile: str
    batch_size: int
    samples: int
    validation_samples: int
    epochs: int
    seed: int

    @property
    def id(self) -> str:
        """Unique within its run, and fit for a folder's name."""
        parts = (self.example, self.backend, self.image_data_format, self.device, f"r{self.repeat}")
        return "__".join(parts).replace("/", "-").replace(":", "")


@dataclass(frozen=True)
class Outcome:
    """What came of a cell."""

    status: str
    reason: str = ""  # one line; empty where the status is ok
    seconds: float | None = None  # wall clock of the guest's process
    exit_code: int | None = None
    tree_memory_mib: float | None = None  # of the guest's process and all below it, the most that was seen
    reference_seconds: float | None = None  # of a fixed computation on this machine just before the cell
    reference_samples: tuple[float, ...] = ()  # of it in one process or more of its own: what that is the median of
    disturbed_rounds: tuple[int, ...] = ()  # in which other programs took much of its turn's time
    device_memory_mib: float | None = None  # on the GPU, the most that was seen; None on the CPU
    device_memory_source: str = ""  # whose that is: see kbench.machine.gpu_memory
    last_event: str = ""  # the last thing that the guest told, such as "epoch 2", where the status is not ok
    last_lines: tuple[str, ...] = ()  # of its log, where the status is not ok


@dataclass(frozen=True)
class Measured:
    """A finished cell as the store gives it back: what was asked, what came of it, what the guest told."""

    cell: Cell
    outcome: Outcome
    epochs: tuple[Epoch, ...] = ()
    phases: Mapping[str, float] = field(default_factory=dict)  # seconds: import, data, build, first_step, ...
    facts: Mapping[str, object] = field(default_factory=dict)  # as kbench.store.events lists them


@dataclass(frozen=True)
class Interval:
    """The ends of a 95 % interval."""

    low: float
    high: float


def column(name: str, of_task: str = "") -> dict[str, str]:
    """What a field of `Summary` is called in summary.csv, where not by its own name; empty: it is no column there.

    `of_task`: the only task ("train" or "infer") of which its value is written.
    """
    return {"column": name, "of_task": of_task}


@dataclass(frozen=True)
class Summary:
    """One row of an example's table: a backend, over all repeats of its cell.

    Its fields are the columns of summary.csv. Programs read the first 19 by place; a new one goes behind the others.
    """

    example: str
    backend: str
    image_data_format: str
    device: str
    profile: str
    status: str
    reason: str
    repeats: int  # how many of them ended ok
    epoch_seconds: float | None  # median of the steady epochs
    first_epoch_seconds: float | None
    samples_per_second: float | None  # of the steady epochs
    relative_to_fastest: float | None
    final_loss: float | None
    final_accuracy: float | None
    final_val_loss: float | None
    final_val_accuracy: float | None
    parameters: int | None
    keras_version: str
    backend_version: str
    # Up to here the place of a column is a promise.
    task: str = "train"
    form: str = ""  # the form of the recurrent layers that was used; empty where the model has none
    phases: Mapping[str, float] = field(default_factory=dict)  # seconds, medians over the repeats
    evaluation_seconds: float | None = None  # of one evaluation: median over epochs and repeats
    seconds_per_1000_samples: float | None = field(
        default=None, metadata=column("seconds_per_1000_images", "infer")
    )  # of the steady epochs
    batch_size: int = 0
    samples: int = 0  # in an epoch, as asked for
    validation_samples: int = 0
    epochs: int = 0  # as asked for
    data: str = ""  # the dataset's name
    data_source: str = ""  # "real" or "synthetic"
    data_sha256: str = ""
    notes: tuple[str, ...] = ()  # what a reader of this row should know
    epoch_interval: Interval | None = field(default=None, metadata=column("epoch_seconds"))  # of epoch_seconds
    relative_interval: Interval | None = field(default=None, metadata=column("relative"))  # of relative_to_fastest
    verdict: str = ""  # FASTEST, BASELINE, FASTER, SLOWER, NO_DIFFERENCE; empty where nothing can be said
    baseline: str = ""  # the backend that the user named as the baseline
    relative_to_baseline: float | None = None
    baseline_interval: Interval | None = field(default=None, metadata=column("relative_to_baseline"))
    resampled: str = ""  # REPEATS or EPOCHS, what the row's own interval is made of; empty where it has none
    resampled_values: int | None = None  # how many of them
    final_accuracy_sd: float | None = None  # over the repeats that ended ok: sample standard deviation
    final_val_accuracy_sd: float | None = None
    target: str = ""  # the example's own: "val_accuracy >= 0.99"
    epochs_to_target: float | None = None  # until it is first reached: median over repeats
    seconds_to_target: float | None = None  # of training, the first epoch included
    repeats_to_target: int | None = None  # how many reached it; None where the example states no target
    deterministic: bool | None = None  # whether repeats with one seed gave the same losses; None where there are none
    peak_memory_mib: float | None = None  # the most that the guest's process held at once: median over the repeats
    import_memory_mib: float | None = None  # of that, what it held once the framework was imported
    tree_memory_mib: float | None = None  # with the processes below it, such as compilers: the most seen
    weights: str = ""  # where the initial weights are from: "seeded", "backend" or "published"
    fingerprint: str = ""  # a short hash of all that has to be equal for rows to be compared
    differs: tuple[str, ...] = ()  # in what this row was not measured like the others; it then has no ratio
    step_seconds_median: float | None = None  # of all steps of the steady epochs
    step_seconds_p95: float | None = None
    compile_seconds: float | None = None  # the first step beyond a steady one: median over the repeats
    device_memory_mib: float | None = None  # on the GPU, the most seen: median over the repeats
    device_memory_source: str = ""  # "process", "device", or both
    allocator_peak_mib: float | None = None  # the most that the framework's own allocator gave out on the GPU
    operations_per_sample: int | None = None  # floating-point ones, counted from the layers; of training if it trains
    percent_of_limit: float | None = None  # 100: as fast as this machine's arithmetic and memory allow
    teardown_seconds: float | None = None  # from the last batch until fit or predict returned: mean of steady epochs
    between_process_factor: float | None = None  # the factor by which processes differ, where the intervals hold that
    unit: str = ""  # what its times are of, if a script's: "epoch", "call" or "run"
    metrics: Mapping[str, float] = field(default_factory=dict, metadata=column("final_metrics"))  # by their names
    relative_to_default: float | None = None  # a variant's ratio to its backend as it is
    default_interval: Interval | None = field(default=None, metadata=column("relative_to_default"))
    native: str = ""  # the backend of its framework without Keras, where the run has that
    relative_to_native: float | None = None
    native_interval: Interval | None = field(default=None, metadata=column("relative_to_native"))
    # No columns.
    input: str = field(default="", metadata=column(""))  # "image", "flat" or "sequence"
    available_samples: int | None = field(default=None, metadata=column(""))  # in an epoch of the published setting
    per_1000_interval: Interval | None = field(default=None, metadata=column(""))  # of seconds_per_1000_samples
    steps: int = field(default=0, metadata=column(""))  # of an epoch, counted; 0 where nobody counted
    seeds: int = field(default=0, metadata=column(""))  # how many different ones the repeats that ended ok had
