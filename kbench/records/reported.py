"""What a guest reports of a cell, in the types that its protocol promises: checked once, when it is read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import Any

import msgspec

from kbench.records.backend_keys import Explanation, explanations
from kbench.records.epochs import Count, Seconds
from kbench.records.fallbacks import Fallback, fallbacks
from kbench.records.layer_words import words

Shape = tuple[int, ...]
Numbers = tuple[float | None, ...]  # None is no number


class Event(msgspec.Struct, frozen=True, tag_field="event"):
    """An event of the guest, identified by its tag."""


class FeatureEvent(msgspec.Struct, frozen=True, tag_field="event"):
    """An event of a feature, which says by the hook `events` how it is kept."""


class Described(msgspec.Struct, frozen=True, array_like=True):
    """A layer: what must be equal for rows to be compared."""

    class_name: str
    settings: dict[str, Any]
    weights: list[Any]  # their shapes


class Layer(msgspec.Struct, frozen=True):
    """A layer with the shapes of its inputs and output, without the batch axis."""

    class_name: str = msgspec.field(name="class")
    settings: dict[str, Any]
    weights: tuple[Shape, ...]  # in the layout that all backends share
    inputs: tuple[tuple[int | None, ...], ...] | None  # None where not reported, or of no fixed length
    output: tuple[int | None, ...] | None
    uses: int = 1  # how often the model calls it
    trained: bool = False  # whether it has weights that training changes
    fed_by_data: bool = False  # whether no trained layer comes before it


class Change(msgspec.Struct, frozen=True, rename={"kind": "class"}):
    """How a step changed a weight; `noisy`: with dropout and noise at fixed values instead of off."""

    kind: str  # the class of its layer
    number: int  # of that layer among those of its class
    weight: str
    norm: float | None  # of the weight; None is no number here and below
    change: float | None  # the norm of the change
    sums: Numbers  # of the change; two changes are about as far apart as these
    rounding: float | None
    noisy: float | None = None
    noisy_sums: Numbers = ()
    average: tuple[float, Numbers, Numbers] | None = None  # of a moving one: see kbench/analysis/sameness/averages.py


class Step(Event, frozen=True, tag="step"):
    """The first optimizer step, taken on trial: see kbench_guest/training/first_step.py."""

    changes: tuple[Change, ...]
    loss: float | None = None
    loss_rounding: float | None = None
    noisy_loss: float | None = None
    draws: tuple[str, ...] | None = None  # the random numbers that its layers ask for; None: unknown
    repeats: int | None = None  # whether an input of whole numbers has one more than once; None in old runs
    unchecked: str | None = None
    point: int | None = None  # where: see kbench_guest/proof/generic_point.py; None in old runs, which had one


class StepAgain(Event, frozen=True, tag="step_again"):
    """The same step, taken once more after the last epoch, from the state before the first."""

    changes: tuple[Change, ...]
    loss: float | None = None
    loss_rounding: float | None = None
    noisy_loss: float | None = None
    draws: tuple[str, ...] = ()
    point: int | None = None


class Received(Event, frozen=True, tag="received"):
    """What an epoch of training received."""

    epoch: int
    steps: int | None = None
    samples: int | None = None
    sha256: str | None = None
    learning_rate: float | None = None
    learning_rate_at_end: float | None = None
    weights_changed: int | None = None  # whether they were changed outside training before it
    callback_seconds: float | None = None  # of the example's callbacks, around its batches
    updates: int | None = None  # the steps that its optimizer counted
    threads: dict[str, Any] | None = None  # of the framework, between two steps
    cores: int | None = None  # on which the thread that trains might run there
    ready_seconds: Seconds | None = None  # that its threads computed or waited for a core, during the epoch
    outputs_off: float | None = None  # from those of the first pass, in the largest number
    validation_sha256: str | None = None  # of what its validation scored
    moved: Numbers | None = None  # how far it moved each weight that training changes
    not_finite: Count | None = None  # how many weights hold what is no finite number when it has ended


class Library(msgspec.Struct, frozen=True):
    """A library of linear algebra or threads that the process had loaded."""

    kind: str
    file: str = ""
    threads: int | None = None


class Program(Event, frozen=True, tag="program"):
    """A program that has ended."""

    seconds: Seconds
    exit_status: int = 0
    keras: int = 1  # whether it imported Keras
    broken: str = ""  # the line whose call raised last


class Facts(msgspec.Struct, frozen=True, dict=True):  # which keeps what is asked of it often
    """What is known of a cell beside its epochs and phases. What was not reported has its default."""

    # As planned.
    task: str = ""
    input: str = ""  # "image", "flat" or "sequence"
    available_samples: int | None = None
    data: str = ""
    data_source: str = ""
    data_sha256: str = ""
    target: str = ""
    policy: str = ""
    explained: tuple[Explanation, ...] = ()  # what the backend's file declares
    beside_newer: str = ""  # so does this
    # The framework.
    python: str = ""
    keras_version: str = ""
    backend_version: str = ""
    numpy_version: str = ""
    keras_backend: str = ""
    image_data_format: str = ""
    floatx: str = "float32"
    epsilon: float | None = None
    jit: str | None = None
    jit_compile: bool | None = None
    computes_in: tuple[str, ...] | None = None
    device: str = ""
    libraries: tuple[Library, ...] = ()
    frameworks: tuple[str, ...] = ()
    numpy_blas: str = ""
    threads_at_start: dict[str, Any] = {}
    cores_at_start: int | None = None  # before the example's file was read
    framework_threads: dict[str, Any] = {}
    # The model.
    parameters: int | None = None
    form: str = ""
    recurrent_kernel: str = ""  # what computes its recurrent layers: fused, scan, loop, unrolled
    dtypes: tuple[str, ...] | None = None
    layers: tuple[Described, ...] | None = None
    input_shapes: tuple[Shape, ...] = ()
    layer_shapes: tuple[Layer, ...] | None = None
    fallbacks: tuple[Fallback, ...] = ()  # what computes slowly, and why
    weights: str = ""
    weights_sha256: str | None = None
    weights_left: tuple[str, ...] = ()
    probe: list[Any] | None = None  # its first outputs: of old runs in any shape
    probe_scales: Numbers | None = None
    # Its training.
    optimizer: dict[str, Any] | None = None
    loss: str | None = None
    batch_size: int | None = None
    samples: int | None = None
    validation_samples: int | None = None
    content_sha256: str | None = None  # of the data, if that is the same in any layout
    validation_sha256: str | None = None  # of a program's fit, as the next three
    start_sha256: str | None = None  # of the weights before its first step, as all backends would keep them
    start_spreads: dict[str, float] | None = None  # standard deviations of its larger matrices then
    in_order: int | None = None  # whether it is given arrays, and told not to shuffle them
    own_code: int | None = None  # whether its model or a layer is of a class that is not Keras's
    order_sha256: str | None = None
    samples_sha256: str | None = None  # of the first epoch's, in any order, where the example's file makes batches
    different_samples: int | None = None
    sample_weights: str | None = None  # of these samples: "none", or a hash of samples and weights
    feeds: str = ""  # the class of what gives its batches
    metrics: str | None = None  # JSON, as the next three
    class_weight: str | None = None
    loss_weights: str | None = None
    augmentation: str | None = None
    steps_per_execution: int | None = None
    run_eagerly: bool | int | None = None
    order_of_updates: str | None = None
    first_step: Step | None = None
    step_again: StepAgain | None = None
    step_elsewhere: Step | None = None  # the first one at a second point; None in old runs
    step_elsewhere_again: StepAgain | None = None
    received: dict[int, Received] = {}  # by the number of the epoch
    stopped_after: int | None = None  # the epoch after which callbacks ended it
    transfer_seconds: float | None = None  # of a batch to the device, and a number back
    # How it went.
    guest_seconds: float | None = None
    peak_memory_mib: float | None = None
    import_memory_mib: float | None = None
    resident: tuple[tuple[float, float], ...] = ()  # of a program's line: an epoch or call, what was held after it
    allocator_peak_mib: float | None = None
    notes: tuple[str, ...] = ()
    events_damaged: int = 0
    error: str = ""
    error_kind: str = ""
    error_in_keras: bool = False
    # Of features: the name of an event -> its events, by what tells several apart.
    of: dict[str, dict[Any, Any]] = {}
    program: Program | None = None
    # A part of a cell whose work is observed, as its kind of work makes it for a row.
    unit: str = ""
    of_kind: Any = None  # what only the kind knows
    site_seconds: float | None = None
    program_seconds: float | None = None
    calls: int | None = None
    first_calls: int | None = None
    each_compiles: bool = False  # whether compilation is part of what each of its calls costs
    call_compile_seconds: float | None = None
    around_seconds: float | None = None
    steady_epoch_seconds: float | None = None
    losses: tuple[tuple[float | None, float | None], ...] = ()  # in training and validation, of all its epochs
    carried: bool = False

    @property
    def optimizer_class(self) -> str:
        """Empty where nothing is trained."""
        return str((self.optimizer or {}).get("class_name", ""))

    @cached_property
    def layer_words(self) -> set[str]:
        """The words that describe its layers, and its loss."""
        weighted = set() if self.sample_weights in (None, "none") else {"sample weights"}
        return words((layer.class_name, layer.settings) for layer in self.layers or ()) | weighted


_TYPES = {one.name: one.type for one in msgspec.structs.fields(Facts)}


def parse_facts(values: Mapping[str, object]) -> dict[str, Any]:
    """Those that are facts, by name. Left out: what is unknown, or of another type."""
    found = {}
    for name in values.keys() & _TYPES.keys():
        with contextlib.suppress(msgspec.ValidationError, OverflowError, RecursionError):
            read = _READERS.get(name) or partial(msgspec.convert, type=_TYPES[name])
            found[name] = read(values[name])
    return found


_READERS: Mapping[str, Callable[[object], object]] = {"explained": explanations, "fallbacks": fallbacks}


def first_known(several: Iterable[Facts]) -> Facts:
    """Each fact from the first that knows it."""
    found: dict[str, Any] = {}
    for one in several:
        for name in _TYPES:
            if name not in found and (value := getattr(one, name)) not in (None, "", (), {}, []):
                found[name] = value
    return Facts(**found)
