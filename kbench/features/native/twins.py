"""An example's twin for a native backend: the same model in a framework's own API, as a file beside the example."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from kbench.additions import InPlace
from kbench.errors import Unsupported, UserError
from kbench.planning.tasks import CellTask
from kbench.records.values import NATIVE, SCRIPT, Backend, Device, Example, base
from kbench.selection.examples import computed, parsed

FUNCTIONS = ("build", "predict", "weights")
OF_TRAINING = ("optimizer", "step")
LOSSES = ("categorical_crossentropy", "sparse_categorical_crossentropy", "binary_crossentropy")
# What the guest gets of an example.
CONSTANTS = ("OPTIMIZER", "LOSS", "METRICS", "AUGMENTATION", "GENERATE")
# What an example may have and a twin cannot use.
KERAS_ALONE = ("batches", "callbacks", "CLASS_WEIGHT", "LOSS_WEIGHTS", "STEPS_PER_EXECUTION")


def in_place(
    task: CellTask, example: Example, backend: Backend, device: Device, backends: Sequence[Backend]
) -> InPlace:
    """The twin that the cell measures; backends: of the run. Raises Unsupported, and UserError if it is wrong."""
    _check(task, example, backends)
    file = _path_of(example, backend)
    found = InPlace(file, _sha256(file, task.task), _constants(example))
    if example.input == "image" and task.image_data_format != backend.layout_on(device):
        raise Unsupported(f"its twins compute with {backend.layout_on(device)}")
    return found


def _path_of(example: Example, backend: Backend) -> Path:
    """The twin's file: beside the example, or else beside the backend's file. Raises Unsupported if there is none."""
    name = base(backend.name).partition("/")[2]
    places = (example.path.parent / NATIVE / name, backend.path.with_suffix(""))
    for folder in places:
        if (folder / f"{example.name}.py").is_file():
            return folder / f"{example.name}.py"
    wanted = Path(example.path.parent.name) / NATIVE / name / f"{example.name}.py"
    raise Unsupported(f"there is no twin of {example.name} for {backend.name}: write {wanted}")


def _check(task: CellTask, example: Example, backends: Sequence[Backend]) -> None:
    """Raises Unsupported if no twin of the example can be measured like its Keras rows."""
    if task.task == SCRIPT:
        raise Unsupported("a script is a Keras program, and a native backend has no Keras")
    alone = [name for name in KERAS_ALONE if name in example.functions or example.constants.get(name)]
    if alone:
        raise Unsupported(f"{example.name} has {alone[0]}, which only Keras can use")
    if example.own_data and not any(one.kind != NATIVE and task.task in one.can for one in backends):
        raise Unsupported(f"load_data of {example.name} needs Keras: add a backend with Keras")
    if task.task == "train" and not isinstance(example.constants.get("OPTIMIZER"), dict):
        raise Unsupported(f"the OPTIMIZER of {example.name} is made by Keras")
    if task.task == "train" and example.constants.get("LOSS") not in LOSSES:
        raise Unsupported(f"the LOSS of {example.name} is not one of {', '.join(LOSSES)}")
    metrics = example.constants.get("METRICS", [])
    if not isinstance(metrics, list | tuple) or any(one not in ("accuracy", "acc") for one in metrics):
        raise Unsupported(f"{example.name} has METRICS other than accuracy")


def _sha256(path: Path, task: str) -> str:
    """The hash of the file. Raises UserError if it is not Python or lacks a function that the task needs."""
    content, tree = parsed(path, "twin")
    names = {getattr(node, "name", "") for node in tree.body} | computed(tree)
    for wanted in (*FUNCTIONS, *(OF_TRAINING if task == "train" else ())):
        if wanted not in names:
            raise UserError(f"The twin {path.parent.name}/{path.name} has no function {wanted}.")
    return hashlib.sha256(content).hexdigest()


def _constants(example: Example) -> dict[str, object]:
    """The example's constants that its twin is trained with."""
    return {name: example.constants[name] for name in CONSTANTS if name in example.constants}
