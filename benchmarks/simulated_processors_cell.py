"""Inside a backend's Python: a cell that takes its step on trial at many points, as other processors might.

    BACKEND_PYTHON benchmarks/simulated_processors_cell.py SPEC     started by simulated_processors.py

It is started in the place of kbench/guest. The cell is the real one up to its training, which it leaves out. At each
point, inputs and weights are moved by up to one unit in the last place before anything is computed. Where the backend
has other instruction sets, a second process does the same with these; its events are in a file of their own.
"""

import json
import os
import subprocess
import sys
import zlib
from typing import Any, Dict, List

import numpy as np

# What makes libraries compute by other instructions or in another order.
OTHER_INSTRUCTIONS: Dict[str, Dict[str, str]] = {
    "keras2/cntk": {"MKL_CBWR": "COMPATIBLE"},
    "keras2/theano": {"OPENBLAS_CORETYPE": "Nehalem", "MKL_CBWR": "COMPATIBLE"},
    "keras2/mxnet": {"OPENBLAS_CORETYPE": "Nehalem", "MKL_CBWR": "COMPATIBLE"},
    "keras3/tensorflow": {"TF_ENABLE_ONEDNN_OPTS": "0"},
    "keras3/jax": {"XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2"},
    "keras3/torch": {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_CBWR": "COMPATIBLE"},
}
OTHER = "other.jsonl"  # the events of the second process


def moved(value: np.ndarray, *where: Any) -> np.ndarray:
    """A third of its numbers one unit up in the last place and a third down, drawn for where that is."""
    if value.dtype.kind != "f":
        return value
    random = np.random.RandomState(zlib.crc32(repr(where).encode()))
    directions = random.randint(-1, 2, value.shape, "int8")
    far = directions * np.finfo(value.dtype).max
    return np.where(directions == 0, value, np.nextafter(value, far.astype(value.dtype)))


def simulate(points: int, processor: str) -> None:
    """From now on the guest's steps are taken at so many points, on such a processor, and models are not trained."""
    from kbench_guest import arrays
    from kbench_guest.proof import generic_point
    from kbench_guest.training import epochs, first_step

    modules: List[Any] = [generic_point, first_step, epochs]
    of_weight, of_inputs = generic_point.weight, generic_point.GenericInputs.with_noise

    def weight(value: np.ndarray, *where: int) -> np.ndarray:
        return moved(of_weight(value, *where), processor, where)

    def with_noise(inputs: Any, x: Any) -> Any:
        return arrays.mapped(lambda one: moved(np.asarray(one), processor, inputs.point), of_inputs(inputs, x))

    def train(*given: Any) -> None:
        for epoch in range(points):
            given[-1].write("epoch", epoch=epoch + 1, seconds=1.0, samples=given[4].samples)

    modules[0].weight, modules[0].GenericInputs.with_noise = weight, with_noise
    modules[1].POINTS, modules[1].write_again = range(points), lambda *given: None
    modules[2].train = train


def main(path: str, other: bool = False) -> int:
    """Run the cell; returns its exit status."""
    checkout = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.path.insert(0, os.path.join(checkout, "kbench", "guest"))
    from kbench_guest import cell
    from kbench_guest.drivers import model_file

    with open(path, encoding="utf-8") as file:
        spec = json.load(file)
    if spec["samples"] == spec["batch_size"]:  # it compiles for runs to come
        return cell.main(path)
    name = spec["backend"]
    processor = name + ("!" if other else "")
    if not other and name in OTHER_INSTRUCTIONS:
        at_others(spec, OTHER_INSTRUCTIONS[name])
    guests: Any = model_file
    run = guests.run

    def simulated(spec: Dict[str, Any], events: Any) -> None:
        simulate(spec["epochs"], processor)
        run(spec, events)

    guests.run = simulated
    return cell.main(path)


def at_others(spec: Dict[str, Any], variables: Dict[str, str]) -> None:
    """The same in a process with these variables, which comes first: after a cell's last event all are ended."""
    folder = os.path.dirname(spec["events"])
    path = os.path.join(folder, "other.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(dict(spec, events=os.path.join(folder, OTHER)), file)
    environment = dict(os.environ, **variables)
    if "XLA_FLAGS" in variables:
        environment["XLA_FLAGS"] = (os.environ.get("XLA_FLAGS", "") + " " + variables["XLA_FLAGS"]).strip()
    subprocess.check_call([sys.executable, __file__, path, OTHER], env=environment)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], len(sys.argv) > 2))
