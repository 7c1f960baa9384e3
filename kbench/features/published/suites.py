"""Reads a suite: examples, what to vary of each, and how the results are laid out. A suite is a TOML file."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar, get_args

import msgspec
from msgspec import Meta, Struct

from kbench.base import paths
from kbench.errors import UserError
from kbench.planning.settings import Count, Settings, Task, Values
from kbench.records.values import Example
from kbench.selection import names
from kbench.store.files import read_bytes
from kbench.words.text import nearest

SUFFIX: Final = ".toml"
INFER: Final = "infer"
GPU: Final = "gpu"

T = TypeVar("T")
Text = Annotated[str, Meta(min_length=1)]
Unit = Literal["s/mini-batch", "samples/s", "s/1,000 samples", "s/epoch", "accuracy"]
Columns = Literal["hardware", "batch_size", "workers", "threads", "samples"]


class Vary(Values, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a file says of an example, with what else holds on a processor, on a GPU, and for inference."""

    task: tuple[Task, ...] = ()
    epoch_samples: Count | None = None  # of the original's epoch, where the example's is another
    cpu: Values = Values()
    gpu: Values = Values()
    infer: Values = Values()


class Layout(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the results for each example, as the original has it."""

    title: Text
    columns: Columns
    unit: Unit
    task: Task = "train"
    examples: tuple[Text, ...] = ()  # those that have it; empty: all


class OtherNetwork(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A framework for which the original measured another network than the example's."""

    example: Text
    framework: Text
    why: Text


class About(Struct, frozen=True, kw_only=True):
    """What a suite's file says that a run keeps as it is."""

    title: Text
    source: str = ""  # an address
    citation: str = ""
    published: tuple[str, ...] = ()  # sources of figures in results/published
    tables: tuple[Layout, ...] = ()
    other_networks: tuple[OtherNetwork, ...] = ()


class File(About, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A suite's file."""

    examples: Annotated[dict[str, Vary], Meta(min_length=1)]
    vary: Vary = Vary()  # of all examples, where theirs do not say otherwise

    @property
    def by_example(self) -> dict[str, Vary]:
        """What is varied, by the names of the examples: of a file its stem."""
        return {Path(name).stem if name.endswith(".py") else name: vary for name, vary in self.examples.items()}


class Suite(About, frozen=True, kw_only=True):
    """A suite as a run keeps it: with what the user's options and this machine leave of it."""

    name: str
    settings: dict[str, Settings]  # by example
    left_out: str = ""  # what this machine cannot, in words


def files() -> dict[str, Path]:
    """The files of kbench's own suites, by name."""
    return {path.stem: path for path in sorted(paths.project_folder("suites").glob(f"*{SUFFIX}"))}


def find(text: str) -> tuple[Path, File]:
    """The suite of that name, or in the user's own file. Raises UserError."""
    known = files()
    path = known.get(text.strip())
    if path is None:
        if not text.endswith(SUFFIX):
            own = f"a suite of your own is a file, such as ./mine{SUFFIX}"
            raise UserError(f"There is no suite {text[:50]!r} ({own}){nearest(text, known)}")
        path = paths.with_home(text)
        if not os.path.isfile(path):  # noqa: PTH113  # pathlib's raises for a name that is too long
            raise UserError(f"There is no suite file {text[:200]}{nearest(path.stem, known)}")
    return path, load(path)


def load(path: Path) -> File:
    """The suite in the file. Raises UserError, one sentence with the file's name and the key."""
    try:
        raw = tomllib.loads(read_bytes(path).decode("utf-8-sig"))
    except OSError as error:
        raise UserError(f"The suite {path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise UserError(f"The suite {path.name} is not text in UTF-8.") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(f"The suite {path.name} is not valid TOML: {error}.") from None
    of_examples = raw.get("examples")
    # One by one, as an error about all of them would not name the example.
    for name, one in of_examples.items() if isinstance(of_examples, dict) else ():
        _converted(one, Vary, path, f"examples.{name}")
    found = _converted(raw, File, path)
    for what, named in (
        ("tables", [name for table in found.tables for name in table.examples]),
        ("other_networks", [one.example for one in found.other_networks]),
    ):
        if unknown := [name for name in named if name not in found.by_example]:
            raise UserError(f"The suite {path.name}: {what} names {unknown[0]!r}, which is none of its examples.")
    return found


def _converted(raw: object, kind: type[T], path: Path, below: str = "") -> T:
    """The table of a file as a value. Raises UserError."""
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        said = _in_words(str(error), below)
        raise UserError(f"The suite {path.name}: {said}{'' if said.endswith('?') else '.'}") from None


def _in_words(error: str, below: str) -> str:
    """What a file has wrong, as a sentence without a full stop; `below` is the table that the error is of."""
    what, _, where = error.partition(" - at ")
    key = ".".join(filter(None, (below, where.strip("`").removeprefix("$").lstrip("."))))
    inside = f" in {key}" if key else ""
    if unknown := re.search(r"unknown field `(.+)`", what):
        kinds = {"": File, "tables": Layout, "other_networks": OtherNetwork}
        nested = Values if key.endswith(("cpu", GPU, INFER)) else Vary
        kind = kinds.get(re.sub(r"\[\d+\]$", "", key), nested)
        return f"there is no key {unknown[1]!r}{inside}{nearest(unknown[1], kind.__struct_fields__).rstrip('.')}"
    if missing := re.search(r"missing required field `(.+)`", what):
        return f"{missing[1]!r} is missing{inside}"
    if word := re.search(r"Invalid enum value '(.*)'", what):
        last = re.sub(r"\W?\d*\W*$", "", key).rpartition(".")[2]
        words: dict[str, Collection[str]] = {"unit": get_args(Unit), "columns": get_args(Columns)}
        words |= {"task": get_args(Task), "data": ("real", "synthetic")}
        some = f": choose from {', '.join(words[last])}" if last in words else ""
        return f"{key} cannot be {word[1]!r}{some}"
    return f"{key or 'it'} is wrong: {what[:1].lower()}{what[1:]}"


def varied(suite: File) -> list[str]:
    """The names of what has several values."""
    layers = [
        one for vary in (suite.vary, *suite.examples.values()) for one in (vary, vary.cpu, vary.gpu, vary.infer)
    ]
    names = (*Values.__struct_fields__[:-1], "task")
    several = {name for one in layers for name in names if len(getattr(one, name, ())) > 1}
    return [name.replace("_", " ") for name in names if name in several]


def kept(suite: Suite) -> dict[str, Any]:
    """What a request keeps of it beside its settings, as JSON."""
    found: dict[str, Any] = msgspec.to_builtins(suite)
    return {name: value for name, value in found.items() if name != "settings"}


def of_request(asked: Mapping[str, Any]) -> Suite | None:
    """The suite in the request that a run keeps; None if there is none, or it cannot be read."""
    try:
        return msgspec.convert({**asked["asked"]["suite"], "settings": asked["example_settings"]}, Suite)
    except (KeyError, TypeError, msgspec.ValidationError):
        return None


def chosen_examples(path: Path, suite: File, known: Mapping[str, Example], typed: str | None) -> tuple[Example, ...]:
    """The suite's examples in its order; only those that the user `typed`, if any. Raises UserError."""
    found: dict[str, Example] = {}
    for name in suite.examples:
        own = name.endswith(".py")
        if not own and name not in known:
            raise UserError(f"The suite {path.name}: there is no example {name!r}{nearest(name, known)}")
        (example,) = names.select_examples(str(path.parent / name) if own else name, known).chosen
        found[example.name] = example
    if typed is None:
        return tuple(found.values())
    wanted = [item.strip() for item in typed.split(",") if item.strip()]
    if not wanted:
        raise UserError(f"--examples is empty: name some of {', '.join(found)}.")
    if others := [item for item in wanted if item not in found]:
        raise UserError(f"The suite {path.stem} has no example {others[0]!r}{nearest(others[0], found, list(found))}")
    return tuple(found[name] for name in dict.fromkeys(wanted))


def resolved(
    path: Path,
    suite: File,
    examples: Iterable[Example],
    *,
    typed: Collection[str],
    on_gpu: bool,
    smoke: bool,
    cores: int,
) -> Suite:
    """What is left of a suite: what the user `typed` (fields of a request) counts instead of it.

    A smoke run takes the first value of each list but tasks, and no run more threads than there are cores.
    """
    settings, threads = {}, set[int]()
    for example in examples:
        layers = [suite.vary, suite.by_example[example.name]]
        values = _over([*layers, *(one.gpu if on_gpu else one.cpu for one in layers)])
        inferring = _over([values, *(one.infer for one in layers)])
        threads |= {*values.threads, *inferring.threads}
        task = next((one.task for one in reversed(layers) if one.task), ())
        settings[example.name] = Settings(
            task=() if "task" in typed else task,
            epoch_samples=layers[-1].epoch_samples,
            train=_left(values, typed, smoke, cores),
            infer=_left(inferring, typed, smoke, cores),
        )
    beyond = [] if "threads" in typed or smoke else sorted(number for number in threads if number > cores)
    left_out = f"{', '.join(map(str, beyond))} threads: more than the cores here" if beyond else ""
    same = {name: getattr(suite, name) for name in About.__struct_fields__}
    return Suite(name=path.stem, settings=settings, left_out=left_out, **same)


def _over(layers: Iterable[Values]) -> Values:
    """The last value that is given for each."""
    found: dict[str, Any] = {}
    for one in layers:
        found |= {name: value for name in Values.__struct_fields__ if (value := getattr(one, name))}
    return Values(**found)


def _left(values: Values, typed: Collection[str], smoke: bool, cores: int) -> Values:
    found = {name: getattr(values, name) for name in Values.__struct_fields__ if name not in typed}
    if "threads" in found:
        found["threads"] = tuple(number for number in found["threads"] if number <= cores)
    if smoke:
        found = {name: value[:1] for name, value in found.items() if isinstance(value, tuple)}
    return Values(**found)
