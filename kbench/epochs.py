"""The epochs of a cell: as a guest told each, and all of them as arrays, for a run can have a million."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, overload

import msgspec

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
    Counts = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    Mask = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

MOST = 2**53  # of a count: from there on a float does not hold every whole number
Count = Annotated[int, msgspec.Meta(ge=0, lt=MOST)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=sys.float_info.max)]  # so no infinity


class Epoch(msgspec.Struct, frozen=True, gc=False, tag_field="event", tag="epoch"):
    """One epoch (or one pass of inference) as the guest measured it; decoded from its line of JSON as it stands."""

    epoch: Count  # 1, 2, ...
    seconds: Seconds  # training alone, without validation
    samples: Count
    loss: float | None = None
    accuracy: float | None = None
    val_loss: float | None = None
    val_accuracy: float | None = None
    evaluation_seconds: Seconds | None = None
    teardown_seconds: Seconds | None = None  # from the end of the last batch until fit or predict returned
    step_seconds: tuple[Seconds, ...] = ()  # of each step, their sum is `seconds`; empty where they were not timed


_FIELDS = Epoch.__struct_fields__
_epoch: Callable[..., Epoch] = Epoch  # by place


class Epochs(Sequence[Epoch]):
    """A cell's epochs in their order: arrays with a number for each epoch.

    The optional ones are NaN where the guest told nothing, as where it told NaN; `values` tells the two apart.
    """

    epoch: Counts
    samples: Counts
    seconds: Numbers
    loss: Numbers
    accuracy: Numbers
    val_loss: Numbers
    val_accuracy: Numbers
    evaluation_seconds: Numbers
    teardown_seconds: Numbers
    step_seconds: Numbers  # of all steps of all epochs
    steps: Counts  # how many of them each epoch has

    def __init__(self, told: Iterable[Epoch] = ()) -> None:
        import numpy as np  # here, since most commands read no run

        columns = list(zip(*map(msgspec.structs.astuple, told), strict=True)) or [()] * len(_FIELDS)
        *numbers, steps = columns
        table = np.array(numbers, dtype=np.float64)  # at once, which is twice as fast as one after the other
        untold: dict[str, Mask] = {}
        if np.isnan(table).any():
            for name, values in zip(_FIELDS, numbers, strict=False):
                if None in values:
                    untold[name] = np.array([value is None for value in values])
        counts = np.fromiter(map(len, steps), dtype=np.int64, count=len(steps))
        self.__setstate__((table, untold, counts, np.array(list(chain.from_iterable(steps)), dtype=np.float64)))

    def __setstate__(self, state: tuple[Numbers, dict[str, Mask], Counts, Numbers]) -> None:
        self._table, self._untold, self.steps, self.step_seconds = state
        for name, row in zip(_FIELDS, self._table, strict=False):
            setattr(self, name, row.astype("int64") if name in ("epoch", "samples") else row)

    def __getstate__(self) -> tuple[Numbers, dict[str, Mask], Counts, Numbers]:
        return self._table, self._untold, self.steps, self.step_seconds  # the other arrays are parts of the first

    @property
    def steady(self) -> Mask:
        """Which are steady: all but the first, which holds compilation and warm-up."""
        mask: Mask = self.epoch > 1
        return mask

    @property
    def steady_steps(self) -> Numbers:
        """Seconds of all steps of the steady epochs."""
        import numpy as np

        found: Numbers = self.step_seconds[np.repeat(self.steady, self.steps)]
        return found

    def numbers(self, name: str) -> Numbers:
        """The array of that name."""
        found: Numbers = getattr(self, name)
        return found

    def values(self, name: str) -> list[Any]:
        """The same as Python's numbers, with None where the guest told nothing."""
        found: list[Any] = getattr(self, name).tolist()
        if name in self._untold:
            for place in self._untold[name].nonzero()[0].tolist():
                found[place] = None
        return found

    @property
    def odd(self) -> bool:
        """Whether any number was not told, or is not finite."""
        import numpy as np

        return bool(self._untold) or not np.isfinite(self._table).all()

    def told(self, name: str) -> Numbers:
        """The optional numbers that the guest told, NaN included."""
        found = self.numbers(name)
        return found[~self._untold[name]] if name in self._untold else found

    def __len__(self) -> int:
        return len(self.epoch)

    def __iter__(self) -> Iterator[Epoch]:
        steps = self.step_seconds.tolist()
        end = 0
        columns = [self.values(name) for name in _FIELDS[:-1]]
        for numbers, count in zip(zip(*columns, strict=True), self.steps.tolist(), strict=True):
            end += count
            yield _epoch(*numbers, tuple(steps[end - count : end]))

    @overload
    def __getitem__(self, place: int) -> Epoch: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Epoch, ...]: ...
    def __getitem__(self, place: int | slice) -> Epoch | tuple[Epoch, ...]:
        if isinstance(place, slice):
            return tuple(self)[place]
        place = range(len(self))[place]
        numbers = [self._number(name, place) for name in _FIELDS[:-1]]
        end = int(self.steps[: place + 1].sum())
        return _epoch(*numbers, tuple(self.step_seconds[end - int(self.steps[place]) : end].tolist()))

    def _number(self, name: str, place: int) -> Any:
        if name in self._untold and self._untold[name][place]:
            return None
        return getattr(self, name)[place].item()

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __repr__(self) -> str:
        return repr(tuple(self))
