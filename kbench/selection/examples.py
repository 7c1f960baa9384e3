"""Reads an example: a Keras file whose constants say how it is measured. It is parsed here and never run."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kbench import paths
from kbench.errors import UserError
from kbench.values import Example, Profile

PROFILES = ("smoke", "quick", "full")
INPUTS = ("image", "flat", "sequence")
TASKS = ("train", "infer")
COUNTS = ("samples", "validation_samples", "epochs")
# What the host reads, without running the file: each has to be a plain value.
READ = (
    "TASK",
    "DATA",
    "INPUT",
    "BATCH_SIZE",
    "OPTIMIZER",
    "LOSS",
    "PARAMETERS",
    "PROFILES",
    "TARGET_ACCURACY",
    "WEIGHTS",
)


def load_all(folder: Path) -> dict[str, Example]:
    """The examples in `folder` by name, in the order of their names. Raises UserError."""
    return {path.stem: load(path) for path in sorted(folder.glob("*.py")) if not path.name.startswith("_")}


def load(path: Path) -> Example:
    """The example in the file `path`. Raises UserError, one sentence with the file's name and the constant."""
    try:
        content = path.read_bytes()
        with warnings.catch_warnings():  # about its style: the guest's Python may have another opinion
            warnings.simplefilter("ignore")
            tree = ast.parse(importlib.util.decode_source(content), filename=str(path))
    except OSError as error:
        raise UserError(f"The example {path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise UserError(f"The example {path.name} is not valid Python: it is not text in UTF-8.") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f", line {line}" if line else ""
        what = str(error.args[0]) if error.args else "nested too deeply"
        raise UserError(f"The example {path.name} is not valid Python{where}: {what}.") from None
    constants = _constants(tree, path)
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    if "build_model" not in functions:
        raise _wrong(path, "has no function build_model(input_shape, num_classes)")
    task = _one_of(constants.get("TASK", "train"), TASKS, "TASK", path)
    if task == "train":
        for name in ("OPTIMIZER", "LOSS"):
            if name not in constants:
                raise _wrong(path, f"has no {name}: training needs it, written as a plain constant")
        _optimizer(constants["OPTIMIZER"], path)
    batch_size = _positive(constants.get("BATCH_SIZE"), "BATCH_SIZE", path)
    return Example(
        name=path.stem,
        title=next(filter(None, map(str.strip, (ast.get_docstring(tree) or "").splitlines())), path.stem),
        path=path.absolute(),
        task=task,
        data=_data(constants.get("DATA"), path),
        input=_one_of(constants.get("INPUT", "sequence"), INPUTS, "INPUT", path),
        batch_size=batch_size,
        parameters=_parameters(constants.get("PARAMETERS"), path),
        profiles=_profiles(constants.get("PROFILES"), task, path),
        sha256=hashlib.sha256(content).hexdigest(),
        augmentation="AUGMENTATION" in constants,
        published_weights=str(constants.get("WEIGHTS", "")),
        target_accuracy=_target(constants.get("TARGET_ACCURACY"), task, path),
    )


def _constants(tree: ast.Module, path: Path) -> dict[str, Any]:
    """The values of NAME = literal at the top of the file; others that are computed are left to the guest."""
    found: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            try:
                found[name] = ast.literal_eval(node.value)
            except (ValueError, TypeError, RecursionError, MemoryError):  # computed, or {[]: 1}
                if name in READ:
                    raise _wrong(path, f"computes its {name}: write the value itself") from None
    return found


def _data(value: object, path: Path) -> str:
    if not isinstance(value, str) or not value:
        raise _wrong(path, "has no DATA = 'name of a dataset' or 'file.npz'")
    if "\0" in value:
        raise _wrong(path, f"has DATA {value!r}, which cannot be a file's name")
    if value.endswith(".npz"):  # the user's own, beside the example
        return os.path.realpath(path.absolute().parent / paths.expanded(value))
    return value


def _optimizer(value: object, path: Path) -> None:
    if not isinstance(value, dict) or not {"class_name", "learning_rate"} <= set(value):
        raise _wrong(path, "has an OPTIMIZER that is not a dict with class_name, learning_rate and the rest")


def _profiles(value: object, task: str, path: Path) -> Mapping[str, Profile]:
    if not isinstance(value, dict) or "full" not in value:
        raise _wrong(path, "has no PROFILES = {'smoke': {...}, 'quick': {...}, 'full': {...}}, full at least")
    made: dict[str, Profile] = {}
    for name, counts in value.items():
        _one_of(name, PROFILES, "PROFILES", path)
        if not isinstance(counts, dict):
            raise _wrong(path, f"has a PROFILES[{name!r}] that is not a dict of {', '.join(COUNTS)}")
        unknown = set(counts) - set(COUNTS)
        if unknown:
            raise _wrong(path, f"has an unknown count in PROFILES[{name!r}]: {sorted(map(str, unknown))[0]}")
        validated = counts.get("validation_samples", 0)
        made[name] = Profile(
            name=name,
            samples=_positive(counts.get("samples"), f"PROFILES[{name!r}]['samples']", path),
            validation_samples=_positive(validated, f"PROFILES[{name!r}]['validation_samples']", path)
            if validated
            else 0,
            epochs=_positive(counts.get("epochs"), f"PROFILES[{name!r}]['epochs']", path),
        )
    # An example of the user's may state the full settings alone.
    return {name: made.get(name, made["full"]) for name in PROFILES}


def _parameters(value: object, path: Path) -> int | None:
    return None if value is None else _positive(value, "PARAMETERS", path)


def _target(value: object, task: str, path: Path) -> float | None:
    if value is None:
        return None
    if task != "train":
        raise _wrong(path, "has a TARGET_ACCURACY, and nothing is learnt where TASK is 'infer'")
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
        raise _wrong(path, "needs TARGET_ACCURACY as a number above 0 and up to 1, such as 0.98")
    return float(value)


def _positive(value: object, name: str, path: Path) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _wrong(path, f"needs {name} as a whole number above 0")
    return value


def _one_of(value: object, known: tuple[str, ...], name: str, path: Path) -> str:
    if value not in known:
        raise _wrong(path, f"has {name} {value!r}, which is not one of {', '.join(known)}")
    return str(value)


def _wrong(path: Path, what: str) -> UserError:
    return UserError(f"The example {path.name} {what}.")
