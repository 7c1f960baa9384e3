"""Everything that can vary between measurements. One more dimension is an entry of AXES and its effect, or a feature.

A `Point` says what a cell or a row is by its value on each axis, also where that is the default; a `RowKey` is a
point without repeat and seed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from math import prod
from typing import TypeVar

from kbench import hooks
from kbench.records.asked import NUMBERS, WHAT, Asked, Numbers, Words

Value = str | int
Item = TypeVar("Item")


@dataclass(frozen=True)
class Axis:
    """One thing that can vary."""

    name: str
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
    always_named: bool = False  # told of each row, also where all rows have the same value
    of_arrays: bool = False  # whether cells along it are given other arrays
    default: Value | None = None  # its value where nothing gives it one, as in earlier runs; None: each cell has one
    in_turns: bool = False  # whether rows along it take turns although they are not ranked: a ratio is told along it
    carries: str = ""  # an axis whose number is divided by its own where that is not asked for
    # Another axis, whose number is multiplied by its own where a third one has this value: then rows along it do
    # other work.
    multiplies: tuple[str, str, Value] | None = None
    after: str = ""  # of a feature: the axis that it follows
    asked: Asked | None = None


# Those of the core.
AXES: tuple[Axis, ...] = (
    Axis("example", "example", same_work=False, always_named=True),  # or a program
    Axis("site", "line", same_work=False, always_named=True, default=""),  # of a program; empty: all of it
    Axis("backend", "backend", ranked=True, of_backend=True, always_named=True),
    Axis("version", "version", "version {}", ranked=True, of_backend=True),
    Axis("jit", "jit_compile", "jit_compile {}", ranked=True, of_backend=True),
    Axis("policy", "dtype policy", ranked=True, of_backend=True),
    Axis("settings", "settings", "settings {}", ranked=True, of_backend=True),
    Axis("variable", "variable", ranked=True, of_backend=True),
    Axis("keras", "Keras", "Keras {}", ranked=True, of_backend=True),
    Axis("package", "package", ranked=True, of_backend=True),
    Axis(
        "args", "arguments", "with {}", ranked=True, of_backend=True, same_work=False,
        asked=Asked(
            "--variant", "also run the program with these further arguments, as rows of their own, compared with "
            "those without: --variant=--mask, --variant='--units 64'; may be repeated",
            commands=(), metavar="ARGUMENTS", repeated=True, called="variants",
        ),
    ),
    Axis(
        "image_data_format", "channels", ranked=True, always_named=True, of_arrays=True,
        asked=Asked(
            "--image-data-format", "image layout: channels_first, channels_last, native (default: each backend's "
            "preferred one) or both",
            takes=Words(("native", "channels_first", "channels_last", "both")),
        ),
    ),
    Axis(
        "device", "device", always_named=True,
        asked=Asked(
            "--device", "auto (default: the first GPU, or else the CPU), cpu, gpu or gpu:N",
            "several: a row for each, such as cpu,gpu",
            single=("setup", "doctor"), group=WHAT,
            metavar="DEVICE", default="auto",
        ),
    ),
    Axis(
        "task", "task", same_work=False,
        asked=Asked(
            "--task", "train, infer (predict only, with the same model and weights) or train,infer (default: each "
            "example's own)",
            takes=Words(("train", "infer")), group=WHAT,
        ),
    ),
    Axis("data_source", "data source", "{} data", same_work=False, of_arrays=True, default=""),  # empty: the run's
    Axis(
        "batch_size", "batch size", "batch {}", same_work=False, number=True, speeds_up=True,
        asked=Asked(
            "--batch-size", "samples per step", "several: a row for each, such as 32,64,128, ranked within each. "
            "32,max doubles it until it does not fit into memory",
            takes=Numbers(1, 10**9, ("max",)), group=NUMBERS,
        ),
    ),
    Axis(
        "samples", "samples", "{} samples", same_work=False, number=True,
        asked=Asked(
            "--samples", "use only the first N training samples", "several: a row for each, such as 1000,4000",
            takes=Numbers(1, 10**9), group=NUMBERS,
        ),
    ),
    Axis(
        "threads", "threads", "{} threads", number=True, speeds_up=True, default=0,  # 0: unknown
        asked=Asked(
            "--threads", "CPU threads of each process, if the framework supports it (default: one per available "
            "core)", "several: a row for each, such as 1,2", takes=Numbers(1, 4096),
        ),
    ),
    Axis("run", "run", of_collection=True),
    Axis("machine", "machine", of_collection=True),
)  # fmt: skip
EXAMPLE, SITE, BACKEND, LAYOUT, DEVICE = "example", "site", "backend", "image_data_format", "device"
TITLE = (EXAMPLE, SITE)  # what the title of a table has
BATCH_SIZE, SAMPLES, THREADS = "batch_size", "samples", "threads"
WORKERS = "workers"  # of a feature: how many train together
TASK, DATA = "task", "data_source"
RUN, MACHINE = "run", "machine"
ARGUMENTS = "args"


@cache
def every() -> tuple[Axis, ...]:
    """All axes in the order of a cell's name, of a table's columns and of its rows. A feature's may stand for one of
    the core.
    """
    found = [*AXES]
    for axis in hooks.axes():
        names = [one.name for one in found]
        if axis.name in names:
            found[names.index(axis.name)] = axis
        else:
            found.insert(names.index(axis.after) + 1 if axis.after in names else len(names), axis)
    return tuple(found)


@dataclass(frozen=True)
class Point:
    """A value on each axis, in the order of `every`; of what a backend's name may say, what it says."""

    values: tuple[tuple[str, Value], ...]
    # The axes with several values in its run. They make it no other point.
    varied: frozenset[str] = field(default=frozenset(), compare=False)

    def __getitem__(self, name: str) -> Value | None:
        return next((value for axis, value in self.values if axis == name), None)

    def without(self, names: Collection[str]) -> Point:
        """The point without these axes: the same for all that differ in them alone."""
        return replace(self, values=tuple(one for one in self.values if one[0] not in names))

    def changed(self, name: str, value: Value) -> Point:
        """The point with this value on an axis."""
        return point({**dict(self.values), name: value}, varied=self.varied)

    def only(self, names: Collection[str]) -> Point:
        """The point on these axes alone."""
        return replace(self, values=tuple(one for one in self.values if one[0] in names))

    @property
    def ranking(self) -> Point:
        """What rows have in common that are ranked against each other."""
        return self.without(ranked())

    @property
    def side_by_side(self) -> Point:
        """What rows have in common whose processes take turns."""
        along = [axis for axis in every() if axis.in_turns and axis.name in self.varied]
        return self.ranking.without([name for axis in along for name in (axis.name, axis.carries)])

    @property
    def work(self) -> Point:
        """What rows have in common that do the same work."""
        other = [axis for axis in every() if not axis.same_work]
        return self.only([axis.name for axis in (*other, *multipliers(self))])

    @property
    def named(self) -> Point:
        """The part that tells it apart in its run, as the names of rows and folders do."""
        return self.only({*always_named(), *self.varied})


RowKey = Point


def point(values: Mapping[str, Value], backend: str = "", varied: Collection[str] = ()) -> Point:
    """The point of the values by axis, and of a backend's name."""
    found = {**(of_name(backend) if backend else {}), **values}
    order = {axis.name: number for number, axis in enumerate(every())}
    chosen = (one for one in found.items() if one[1] != "")
    return Point(tuple(sorted(chosen, key=lambda one: order.get(one[0], len(order)))), frozenset(varied))


@lru_cache(maxsize=4096)
def key(values: tuple[tuple[str, Value], ...], varied: tuple[str, ...]) -> RowKey:
    """The row that a cell with these values belongs to."""
    others = dict(values)
    backend = str(others.pop(BACKEND))
    return point(others, backend, varied)


def in_order(names: Collection[str]) -> list[str]:
    """These axes in their order."""
    return [name for name, _ in point(dict.fromkeys(names, 0)).values]


def multipliers(values: Mapping[str, Value] | Point) -> list[Axis]:
    """The axes whose numbers multiply those of others at these values."""
    return [axis for axis in every() if axis.multiplies and values[axis.multiplies[1]] == axis.multiplies[2]]


def multiplied(name: str, values: Mapping[str, Value]) -> int:
    """The number on an axis, times those that multiply it."""
    of = [axis.name for axis in multipliers(values) if axis.multiplies and axis.multiplies[0] == name]
    return int(values[name]) * prod(int(values[axis]) for axis in of)


def of_cells() -> list[Axis]:
    """The axes on which each cell has a value."""
    return [axis for axis in every() if axis.name == BACKEND or not (axis.of_backend or axis.of_collection)]


def complete(values: Mapping[str, Value]) -> dict[str, Value]:
    """A cell's values on all axes, with defaults, in order. Raises ValueError if one is missing or wrong."""
    given = {axis.name: axis.default for axis in of_cells() if axis.default is not None} | {**values}
    for axis in of_cells():
        value = given.get(axis.name)
        if not (isinstance(value, int) and 0 <= value < 2**53 if axis.number else isinstance(value, str)):
            raise ValueError(f"no value for {axis.title}")
    return {axis.name: given.pop(axis.name) for axis in of_cells()} | given


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


def always_named() -> list[str]:
    """The axes that are told of each row."""
    return [axis.name for axis in every() if axis.always_named or axis.of_backend or axis.of_collection]


def ranked() -> list[str]:
    """The axes along which rows are ranked."""
    return [axis.name for axis in every() if axis.ranked]


def of_backends() -> list[str]:
    """The axes whose values are in a backend's name."""
    return [axis.name for axis in every() if axis.of_backend]


def numbers() -> list[Axis]:
    """The axes with numbers."""
    return [axis for axis in every() if axis.number]


def by_name(name: str) -> Axis:
    """The axis of that name."""
    return next((axis for axis in every() if axis.name == name), Axis(name, name.replace("_", " ")))


def varying(keys: Iterable[Point], among: Collection[str] = ()) -> list[Axis]:
    """The axes on which the points do not all have the same value, in order: of those that are told of each row, that
    have several values in a run, or that are `among` these.
    """
    keys = list(keys)
    told = {*always_named(), *among}.union(*(key.varied for key in keys))
    names = dict.fromkeys(name for key in keys for name, _ in key.values if name in told)
    found = {name for name in names if len({key[name] for key in keys}) > 1}
    known = [axis for axis in every() if axis.name in found]
    return [*known, *(by_name(name) for name in names if name in found - {axis.name for axis in known})]


def common(points: Iterable[Point]) -> list[str]:
    """The axes that have one value for all in each run: between runs they make no other rows."""
    told = {*always_named()}.union(*(one.varied for one in points))
    return [axis.name for axis in of_cells() if axis.name not in told]


def group_by_point(
    items: Iterable[Item], key: Callable[[Item], Point], along: Collection[str]
) -> dict[Point, list[Item]]:
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


def example_and_line(example: Value | None, site: Value | None) -> str:
    """As tables name it: `mnist_mlp`, or of a line `train.py: fit, line 9`."""
    return f"{example}: {site}" if site else f"{example}"


def titled(example: str, values: Mapping[str, Value | None]) -> str:
    """An example and values on other axes, such as `mnist_mlp (batch 32, 1 thread)`."""
    others = ", ".join(filter(None, (shown(by_name(name), value) for name, value in values.items())))
    return f"{example} ({others})" if others else example


def within_backends(keys: Iterable[Point]) -> list[Axis]:
    """The axes on which points of the same example and backend differ."""
    same = group_by_point(keys, lambda one: one.only([*TITLE, *of_backends()]), ())
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
