"""The values of a parity run: what a backend computed, and how far it is from the reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kbench.records.backend_keys import Explanation
from kbench.records.values import Measured

if TYPE_CHECKING:  # most commands do without numpy
    import numpy.typing as npt

    Array = npt.NDArray[Any]


@dataclass(frozen=True)
class LayerOutput:
    """A layer's output for the first samples of a batch, images with channels last."""

    name: str
    class_name: str  # with what it wraps: "TimeDistributed(LSTM)"
    values: Array | None  # flat, the first numbers only
    unread: str = ""  # why it could not be read
    reference: Array | None = None  # the same by numpy
    public: str = ""  # its name and settings if it is Keras's own


@dataclass(frozen=True)
class LayerWeights:
    """A layer's weights after some steps, in the layout that all backends share."""

    name: str
    class_name: str
    values: tuple[Array, ...]  # flat; of a large array a sample, the same on every backend
    sizes: tuple[int, ...]  # of the whole arrays
    names: tuple[str, ...] = ()  # "kernel", ...; empty if they are not known
    trained: tuple[bool, ...] = ()  # whether the optimizer changes it; likewise


@dataclass(frozen=True)
class ParityStep:
    """A model after a number of optimizer steps."""

    loss: float | None  # of the first batch
    layers: tuple[LayerWeights, ...]
    optimizer: str = ""


@dataclass(frozen=True)
class OpCall:
    """A call of a public function by a user's own layer: arrays with their shapes; flat, of large ones a sample."""

    name: str  # "ops.pad"
    given: tuple[tuple[tuple[int, ...], Array], ...]
    returned: tuple[tuple[tuple[int, ...], Array], ...]


@dataclass(frozen=True)
class Computed:
    """What a cell of a parity run computed on its first batch."""

    outputs: Array
    loss: float | None
    layers: tuple[LayerOutput, ...]
    reported: float | None  # the loss that the backend itself gave in its first training step
    steps: Mapping[int, ParityStep]
    reference_outputs: Array | None = None
    reference_loss: float | None = None
    moved_reported: float | None = None  # `reported` and `steps`, from weights moved by one unit in the last place
    moved: Mapping[int, ParityStep] = field(default_factory=dict)
    calls: tuple[OpCall, ...] = ()


@dataclass(frozen=True)
class Deviation:
    """How far a backend is from what it is compared with; `layer` is where."""

    size: float  # infinite where shapes differ
    layer: str = ""
    class_name: str = ""
    against: str = ""  # after steps: the backend that it is compared with; empty for a mean of two
    of_weights: float | None = None  # after steps, if the loss deviates most: how far the weights are
    trained: Deviation | None = None  # after steps, if a weight that is not trained deviates: that of the others
    by_weight: Mapping[str, float] = field(default_factory=dict)  # after steps: of the weights of each name


@dataclass(frozen=True)
class Agreement:
    """One row of a parity table: how far a backend is from the reference, and what that means."""

    example: str
    backend: str
    image_data_format: str
    device: str
    verdict: str  # "same", "explained", "differs", "alone", or the cell's status
    reason: str  # of a cell that did not end ok
    reference: str  # what outputs, loss and layers are compared with; empty if nothing
    deviations: Mapping[str, Deviation]  # by those of QUANTITIES that were compared
    first: Deviation | None = None  # the first layer that differs by more than the tolerance
    notes: tuple[str, ...] = ()
    by_others: frozenset[str] = frozenset()  # backends whose declared differences are all that explains it


@dataclass(frozen=True)
class Subject:
    """A cell with what it computed; None where it did not end ok, or its arrays cannot be read."""

    measured: Measured
    computed: Computed | None
    explained: tuple[Explanation, ...] = ()
