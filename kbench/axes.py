"""Everything that can vary between measurements. One more dimension is a line of AXES, and its use.

A `Point` says what a cell or a row is by its value on each axis; a `RowKey` is a point without repeat and seed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, TypeVar

Value = str | int
Item = TypeVar("Item")


@dataclass(frozen=True)
class Axis:
    """One thing that can vary."""

    name: str  # of a field in results, if it has one of its own
    title: str  # as tables head its column
    label: str = "{}"  # a value in a sentence or a legend: "batch {}", or "{} threads"
    # Whether rows along it do the same work: then their fingerprints have to agree.
    same_work: bool = True
    # Whether rows along it take turns and are ranked in one table: the question is which of them is faster.
    ranked: bool = False
    number: bool = False  # a line in a plot; a choice is bars
    speeds_up: bool = False  # whether the ideal throughput grows in proportion to the number
    of_backend: bool = False  # part of a backend's name
    of_collection: bool = False  # tells the runs of a collection apart: not shown in a single run


# In the order of a cell's name, of a table's columns and of its rows.
AXES: tuple[Axis, ...] = (
    Axis("example", "example", same_work=False),
    Axis("backend", "backend", ranked=True, of_backend=True),
    Axis("version", "version", "version {}", ranked=True, of_backend=True),
    Axis("keras", "Keras", "Keras {}", ranked=True, of_backend=True),
    Axis("package", "package", ranked=True, of_backend=True),
    Axis("jit", "jit_compile", "jit_compile {}", ranked=True, of_backend=True),
    Axis("policy", "dtype policy", ranked=True, of_backend=True),
    Axis("settings", "settings", "settings {}", ranked=True, of_backend=True),
    Axis("variable", "variable", ranked=True, of_backend=True),
    Axis("args", "arguments", "with {}", ranked=True, of_backend=True, same_work=False),
    Axis("image_data_format", "channels", ranked=True),
    Axis("device", "device"),
    Axis("task", "task", same_work=False),
    Axis("data_source", "data", "{} data", same_work=False),
    Axis("batch_size", "batch size", "batch {}", same_work=False, number=True, speeds_up=True),
    Axis("samples", "samples", "{} samples", same_work=False, number=True),
    Axis("threads", "threads", "{} threads", number=True, speeds_up=True),
    Axis("run", "run", of_collection=True),
    Axis("machine", "machine", of_collection=True),
)
EXAMPLE, BACKEND, LAYOUT, DEVICE = "example", "backend", "image_data_format", "device"
BATCH_SIZE, SAMPLES, THREADS = "batch_size", "samples", "threads"
TASK, DATA = "task", "data_source"
RUN, MACHINE = "run", "machine"
ARGUMENTS = "args"


@dataclass(frozen=True)
class Point:
    """A value on each axis that applies, in the order of AXES."""

    values: tuple[tuple[str, Value], ...]

    def __getitem__(self, name: str) -> Value | None:
        return next((value for axis, value in self.values if axis == name), None)

    def without(self, names: Collection[str]) -> Point:
        """The point without these axes: the same for all that differ in them alone."""
        return Point(tuple(one for one in self.values if one[0] not in names))

    def changed(self, name: str, value: Value) -> Point:
        """The point with another value on an axis that it has."""
        return Point(tuple((axis, value if axis == name else own) for axis, own in self.values))

    def only(self, names: Collection[str]) -> Point:
        """The point on these axes alone."""
        return Point(tuple(one for one in self.values if one[0] in names))

    @property
    def ranking(self) -> Point:
        """What rows have in common that are ranked against each other."""
        return self.without(ranked())

    @property
    def work(self) -> Point:
        """What rows have in common that do the same work."""
        return self.only([axis.name for axis in AXES if not axis.same_work])


RowKey = Point


class HasKey(Protocol):
    """A cell, or a summary of cells."""

    @property
    def example(self) -> str: ...
    @property
    def backend(self) -> str: ...
    @property
    def image_data_format(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def axes(self) -> Mapping[str, Value]: ...


def point(values: Mapping[str, Value], backend: str = "") -> Point:
    """The point of the values by axis, and of a backend's name."""
    found = {**(of_name(backend) if backend else {}), **values}
    order = {axis.name: number for number, axis in enumerate(AXES)}
    return Point(tuple(sorted(found.items(), key=lambda one: order.get(one[0], len(order)))))


@lru_cache(maxsize=4096)
def of_name(backend: str) -> Mapping[str, str]:
    """A backend's name as values: NAME@0.9+jit=off is backend NAME, version 0.9 and jit off."""
    name, version, settings = split_name(backend)
    found = {BACKEND: name} if version is None else {BACKEND: name, "version": version}
    for setting in settings:
        key, _, value = setting.partition("=")
        other = "variable" if key[:1].isupper() or key[:1] == "_" else "package"
        axis, text = (key, value) if key in ("keras", "jit", "policy", "settings", ARGUMENTS) else (other, setting)
        found[axis] = " ".join(filter(None, (found.get(axis), text)))
    return found


def split_name(backend: str) -> tuple[str, str | None, list[str]]:
    """The parts of a backend's name: NAME, VERSION if it has one, and each SETTING=VALUE."""
    start, *settings = backend.split("+")
    name, is_given, version = start.partition("@")
    return name, version if is_given else None, [one for one in settings if one]


def ranked() -> list[str]:
    """The axes along which rows are ranked."""
    return [axis.name for axis in AXES if axis.ranked]


def of_backends() -> list[str]:
    """The axes whose values are in a backend's name."""
    return [axis.name for axis in AXES if axis.of_backend]


def numbers() -> list[Axis]:
    """The axes with numbers."""
    return [axis for axis in AXES if axis.number]


def by_name(name: str) -> Axis:
    """The axis of that name."""
    return next((axis for axis in AXES if axis.name == name), Axis(name, name.replace("_", " ")))


def varying(keys: Iterable[Point]) -> list[Axis]:
    """The axes on which the points do not all have the same value, in order."""
    keys = list(keys)
    names = dict.fromkeys(name for key in keys for name, _ in key.values)
    found = {name for name in names if len({key[name] for key in keys}) > 1}
    known = [axis for axis in AXES if axis.name in found]
    return [*known, *(by_name(name) for name in names if name in found - {axis.name for axis in known})]


def beside(items: Iterable[Item], key: Callable[[Item], Point], along: Collection[str]) -> dict[Point, list[Item]]:
    """The items that are the same point but for the axes `along`, together: what a comparison along them is of."""
    found: dict[Point, list[Item]] = {}
    for item in items:
        found.setdefault(key(item).without(along), []).append(item)
    return found


def shown(axis: Axis, value: Value | None) -> str:
    """A value as a legend or a sentence has it, such as `batch 64`, `2 threads`, `channels_first` or `gpu:0`."""
    if value is None:
        return ""
    text = axis.label.format(f"{value:,}" if isinstance(value, int) else value)
    return text.removesuffix("s") if value == 1 else text


def span(axis: Axis, first: int, last: int) -> str:
    """From one number to another, such as `batch 32 to 128` or `1 to 2 threads`."""
    if axis.label.startswith("{}"):
        return f"{first:,} to {shown(axis, last)}"
    return f"{shown(axis, first)} to {last:,}"


def titled(example: str, values: Mapping[str, Value | None]) -> str:
    """An example and values on other axes, such as `mnist_mlp (batch 32, 1 thread)`."""
    others = ", ".join(filter(None, (shown(by_name(name), value) for name, value in values.items())))
    return f"{example} ({others})" if others else example


def within_backends(keys: Iterable[Point]) -> list[Axis]:
    """The axes on which points of the same example and backend differ."""
    same = beside(keys, lambda one: one.only([EXAMPLE, *of_backends()]), ())
    found = {axis.name for group in same.values() for axis in varying(group)}
    every = varying(key for group in same.values() for key in group)
    return [axis for axis in every if axis.name in found and not axis.of_collection]


def value_shown(axis: Axis, one: Point) -> str:
    """A value as a column with the axis's title has it."""
    value = one[axis.name]
    return f"{value:,}" if isinstance(value, int) else (value or "").removeprefix("channels_")


def file_part(name: str, value: Value) -> str:
    """A value as a part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9._=-]", "-", f"{name}={value}")


def order_of(points: Sequence[Point]) -> Callable[[Point], tuple[Hashable, ...]]:
    """A key that sorts rankings: examples as they come, then numbers by size and choices as they come."""
    firsts: dict[str, dict[Value | None, int]] = {}
    for one in points:
        for name, value in one.values:
            firsts.setdefault(name, {}).setdefault(value, len(firsts.get(name, {})))

    def key(one: Point) -> tuple[Hashable, ...]:
        return tuple(
            (value if by_name(name).number and isinstance(value, int) else firsts[name][value])
            for name, value in one.values
        )

    return key


def key(one: HasKey) -> RowKey:
    """The row that a cell belongs to, or that a summary is."""
    return _key(one.example, one.backend, one.image_data_format, one.device, tuple(one.axes.items()))


@lru_cache(maxsize=4096)
def _key(example: str, backend: str, layout: str, device: str, others: tuple[tuple[str, Value], ...]) -> RowKey:
    return point({EXAMPLE: example, LAYOUT: layout, DEVICE: device, **dict(others)}, backend)
