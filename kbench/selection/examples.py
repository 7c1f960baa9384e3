"""Reads an example's constants, which say how it is measured. The file is parsed, not run."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from kbench.base import paths
from kbench.errors import UserError
from kbench.records.values import Example, Profile
from kbench.selection.decoding import Wrong, decode
from kbench.store.files import read_bytes

LONGEST_NAME = 120
PROFILES = ("smoke", "quick", "full")
Whole = Annotated[int, Meta(ge=1, description="a whole number above 0")]
TARGET = r"\w+ *[<>]= *-?[0-9.]+(e-?[0-9]+)?"


class Optimizer(Struct):
    """The optimizer's class and learning rate; the guest reads the rest."""

    class_name: Any
    learning_rate: Any


class Constants(Struct):
    """The constants that the host reads without running the example: each must be a literal."""

    BATCH_SIZE: Whole
    PROFILES: Annotated[
        dict[Annotated[str, Meta(pattern=rf"\A({'|'.join(PROFILES)})\Z")], Profile],
        Meta(
            description="a dict of smoke, quick and full (full at least), each a dict of samples, epochs and, it may "
            "be, validation_samples: whole numbers above 0"
        ),
    ]
    DATA: Annotated[str, Meta(pattern=r"\A[^\0]+\Z", description="the name of a dataset or of a file.npz")] = ""
    TASK: Annotated[Literal["train", "infer"], Meta(description="train or infer")] = "train"
    INPUT: Annotated[Literal["image", "flat", "sequence"], Meta(description="image, flat or sequence")] = "sequence"
    OPTIMIZER: Annotated[
        Optimizer | None,
        Meta(
            description="a dict with class_name, learning_rate and the rest, or a function that returns an optimizer"
        ),
    ] = None
    LOSS: Any = None
    METRICS: Any = None
    STEPS_PER_EXECUTION: Whole = 1
    GENERATE: Annotated[int, Meta(ge=0, description="a whole number")] = 0
    CORE: Annotated[bool, Meta(description="True or False")] = True
    PARAMETERS: Annotated[Whole | None, Meta(description="a whole number above 0")] = None
    TARGET_ACCURACY: Annotated[
        Annotated[float, Meta(gt=0, le=1)] | None, Meta(description="a number above 0 and up to 1, such as 0.98")
    ] = None
    TARGET: Annotated[
        Annotated[str, Meta(pattern=rf"\A{TARGET}\Z")] | None,
        Meta(description="a metric, <= or >=, and a number, such as 'val_mae <= 2.5'"),
    ] = None
    WEIGHTS: Annotated[str, Meta(description="a file's name")] = ""


READ = Constants.__struct_fields__
MAY_BE_CODE = ("LOSS", "METRICS", "OPTIMIZER")  # only the guest evaluates these

KINDS = ("flat", "image", "sequence")  # of inputs, from the fastest to compile and train to the slowest


class NoModel(UserError):
    """The file has no build_model: it may be a program."""


def by_cost(known: Iterable[Example]) -> list[Example]:
    """The examples, roughly from the fastest to the slowest: by the kind of input, then by parameters."""
    return sorted(known, key=lambda one: (KINDS.index(one.input), one.task != "train", one.parameters or 0, one.name))


def load_all(folder: Path) -> dict[str, Example]:
    """The examples in `folder` by name, in the order of their names. Raises UserError."""
    return {path.stem: load(path) for path in sorted(folder.glob("*.py")) if not path.name.startswith("_")}


def files() -> list[Path]:
    """The files of kbench's examples, first those of a single kind of model each (examples_models/kinds)."""
    folder = paths.project_folder("examples_models")
    return [*sorted((folder / "kinds").glob("*.py")), *sorted(folder.glob("*.py"))]


def load(path: Path) -> Example:
    """The example in the file `path`. Raises UserError, one sentence with the file's name and the constant."""
    content, tree = parsed(path, "example")
    found = _constants(tree, path)
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    if "build_model" not in functions:
        raise NoModel(str(_wrong(path, "has no function build_model(input_shape, num_classes)")))
    try:
        constants = decode(found, Constants)
    except Wrong as wrong:
        given = found.get(wrong.key)
        known = wrong.key != "PROFILES" or not isinstance(given, dict)
        strange = [] if known else [one for one in given or () if one not in PROFILES]
        inner = wrong.inner or next(map(str, strange), "")
        where = f"; see {inner[:50]!r}" if inner else ""
        raise _wrong(path, f"needs {wrong.key} as {wrong.wanted}{where}") from None
    target = _target(path, constants)
    code = functions | computed(tree)
    for name in ("OPTIMIZER", "LOSS"):
        if constants.TASK == "train" and getattr(constants, name) is None and name not in code:
            raise _wrong(path, f"has no {name}, which training needs")
    own_data = "load_data" in functions
    if own_data == bool(constants.DATA):
        raise _wrong(path, "has both DATA and load_data()" if own_data else "has neither DATA nor load_data()")
    full = constants.PROFILES.get("full")
    if full is None:
        raise _wrong(path, f"needs PROFILES as {Wrong(Constants, 'PROFILES').wanted}")
    data = str(path.absolute()) if own_data else constants.DATA
    if data.endswith(".npz"):  # the user's own file, relative to the example
        data = os.path.realpath(path.absolute().parent / paths.with_home(data))
    return Example(
        name=path.stem,
        title=title_of(tree, path.stem),
        path=path.absolute(),
        task=constants.TASK,
        data=data,
        input=constants.INPUT,
        batch_size=constants.BATCH_SIZE,
        parameters=constants.PARAMETERS,
        # A user's example may define only the full profile.
        profiles={name: constants.PROFILES.get(name, full) for name in PROFILES},
        sha256=hashlib.sha256(content).hexdigest(),
        augmentation="AUGMENTATION" in found,
        published_weights=constants.WEIGHTS,
        constants={name: value for name, value in found.items() if name.isupper()},
        functions=frozenset(functions),
        target=target,
        core=constants.CORE,
    )


def _target(path: Path, constants: Constants) -> str:
    """The metric and value up to which training is timed; empty if there is none. Raises UserError."""
    target, accuracy = constants.TARGET, constants.TARGET_ACCURACY
    if target is not None and accuracy is not None:
        raise _wrong(path, "has both TARGET and TARGET_ACCURACY")
    if (target or accuracy) and constants.TASK == "infer":
        name = "TARGET" if target else "TARGET_ACCURACY"
        raise _wrong(path, f"has a {name}, but TASK is 'infer', which learns nothing")
    return target or (f"val_accuracy >= {accuracy:g}" if accuracy else "")


def parsed(path: Path, what: str) -> tuple[bytes, ast.Module]:
    """The file's content and syntax tree; an error calls the file a `what`. Raises UserError."""
    if path.name.encode(errors="replace").decode() != path.name:  # it becomes a row's name, and a folder's
        raise UserError(f"The name of the {what} {path.name!r} is not text in UTF-8: rename it.")
    if len(path.name.encode()) > LONGEST_NAME:  # a cell's folder is named after it, its backend, and more
        raise UserError(f"The name of the {what} {path.name[:40]}... has more than {LONGEST_NAME} bytes: shorten it.")
    try:
        content = read_bytes(path)
        if b"\0" in content:
            raise UserError(
                f"The {what} {path.name} is not valid Python: it has null bytes, as data and UTF-16 have."
            )
        with warnings.catch_warnings():  # the guest's Python decides what is valid, this one only warns
            warnings.simplefilter("ignore")
            return content, ast.parse(importlib.util.decode_source(content), filename=str(path))
    except OSError as error:
        raise UserError(f"The {what} {path} cannot be read: {error.strerror or error}.") from None
    except (UnicodeDecodeError, LookupError):  # or an encoding that is none of text, such as rot13
        raise UserError(f"The {what} {path.name} is not valid Python: it is not text in UTF-8.") from None
    except (RecursionError, MemoryError):
        raise UserError(
            f"The {what} {path.name} cannot be read: an expression has thousands of terms, or is nested too deeply."
        ) from None
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        where = f", line {line}" if line else ""
        raise UserError(f"The {what} {path.name} is not valid Python{where}: {error.args[0]}.") from None


def title_of(tree: ast.Module, name: str) -> str:
    """The first line of the file's docstring; `name` if it has none."""
    return next(filter(None, map(str.strip, (ast.get_docstring(tree) or "").splitlines())), name)


def _constants(tree: ast.Module, path: Path) -> dict[str, Any]:
    """The values of NAME = literal at the top of the file; computed ones are left to the guest."""
    found: dict[str, Any] = {}
    for targets, value in _assignments(tree):
        if len(targets) != 1 or not isinstance(targets[0], ast.Name):
            continue
        name = targets[0].id
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, TypeError, RecursionError, MemoryError):  # computed, or {[]: 1}
            found.pop(name, None)  # what it was before
            if name in READ and name not in MAY_BE_CODE:
                raise _wrong(path, f"computes its {name}: write the value itself") from None
    return found


def computed(tree: ast.Module) -> set[str]:
    """The names assigned at the top of the file."""
    return {one.id for targets, _ in _assignments(tree) for one in targets if isinstance(one, ast.Name)}


def _assignments(tree: ast.Module) -> Iterator[tuple[list[ast.expr], ast.expr]]:
    """(targets, value) of each assignment at the top of the file, with a type or without."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            yield node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield [node.target], node.value


def _wrong(path: Path, what: str) -> UserError:
    return UserError(f"The example {path.name} {what}.")
