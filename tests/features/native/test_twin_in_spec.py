"""What the guest is given of a twin."""

from __future__ import annotations

from pathlib import Path

from kbench import hooks
from kbench.base import paths
from kbench.cells import spec as specs
from kbench.cells.spec import RunPaths
from kbench.machine import devices
from kbench.planning import plan
from kbench.planning.request import Request
from kbench.planning.tasks import CellTask, guest_sha256
from kbench.selection import backends

EXAMPLES = paths.project_folder("examples_models")


def task(backend: str) -> CellTask:
    wanted = Request(backends=(backend,), examples=(str(EXAMPLES / "mnist_mlp.py"),))
    (made,) = plan.make_plan(wanted, backends.load_all(paths.project_folder("backends")), []).tasks
    return made


def test_a_native_backend_is_given_its_twin_and_the_constants_of_the_example_and_no_keras_json() -> None:
    made = task("native/torch")
    assert made.kind == "native" and made.versions.keys() == {"backend"} and len(made.in_place_sha256) == 64
    assert made.constants["OPTIMIZER"]["class_name"] == "RMSprop"
    assert specs.keras_json(made) == {}
    here = RunPaths(
        run=Path.home() / "results",
        devices={"cpu": devices.CPU},
        examples={"mnist_mlp": EXAMPLES / "mnist_mlp.py"},
        data={},
        published_weights={},
        in_place={("mnist_mlp", "native/torch"): Path("/twins/mnist_mlp.py")},
        environments={},
        passed={},
    )
    assert specs.spec(made, here)["driver"]["file"] == "/twins/mnist_mlp.py"


def test_the_code_that_runs_a_twin_is_part_of_its_cells_identity_and_of_no_other() -> None:
    assert task("native/torch").guest_sha256 == guest_sha256(hooks.guest_folder("native"))
    assert task("keras3/torch").guest_sha256 == guest_sha256()
