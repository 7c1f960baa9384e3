"""The guest beside a user's files: its modules' names are not theirs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from fake_bench import EXAMPLE, Bench

from kbench.base import paths

PACKAGE = paths.GUEST / "kbench_guest"
# All of the guest, with the rooms, that a cell loads which trains an example and was asked for nothing else.
PLAIN = {
    "": "arrays callback_time cell clock device parts process protocol scores sketches turns",
    "drivers": "model_file",
    "frameworks": """
        graph interface keras2 keras2_theano keras_models layer_settings layers legacy_keras optimizers recurrent
        theano_headers trials trials_of_keras2 workers
    """,
    "proof": "as_asked fingerprint first_outputs forms generic_point initializers shapes weights",
    "training": """
        between_epochs callbacks epochs example_file example_model feeding first_step generation received
        recurrent_kernel timing validated within_steps
    """,
}
TELLS = """
import atexit
import sys

atexit.register(lambda: print("loaded", *(name for name in sys.modules if name.startswith("kbench"))))
"""
IMPORTS = """
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
{imports}
assert {{{names}}} == {{"mine"}}
"""


def test_a_file_beside_an_example_may_be_called_like_any_module_of_the_guest(bench: Bench) -> None:
    names = sorted({path.stem for path in PACKAGE.rglob("*.py")} - {"__init__"})
    assert len(names) > 10
    for name in [*names, "weights", "events", "forms", "kernels", "measure", "hardware", "generations"]:
        Path(bench.folder, f"{name}.py").write_text('OWNER = "mine"\n')
        names = [*names, name]
    imports = "\n".join(f"import {name}" for name in names)
    owners = ", ".join(f"{name}.OWNER" for name in names)
    head = IMPORTS.format(imports=imports, names=owners)
    bench.example("my_example.py", EXAMPLE.replace("\nfrom keras.layers", f"{head}\nfrom keras.layers", 1))
    said = bench.measure()
    assert said.status == 0, said.out + said.err
    assert bench.fates() == {"my_example": ("ok", "")}


def test_nothing_but_the_package_lies_where_the_guest_is_started() -> None:
    assert {path.name for path in paths.GUEST.iterdir()} - {"__pycache__"} == {"__main__.py", "kbench_guest"}


def test_nothing_heavy_is_imported_before_the_phase_that_times_it() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); from kbench_guest import cell; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, str(paths.GUEST)], capture_output=True, text=True, check=True)
    assert "kbench_guest.cell" in done.stdout.split()
    assert not {"numpy", "keras"} & set(done.stdout.split())


def test_a_cell_that_trains_an_example_loads_these_modules_and_none_of_a_feature(bench: Bench) -> None:
    expected = {"kbench_guest"}
    for room, names in PLAIN.items():
        package = ".".join(["kbench_guest", *filter(None, [room])])
        expected |= {package, *(f"{package}.{name}" for name in names.split())}
    bench.example("my_example.py", EXAMPLE.replace("\nfrom keras.layers", f"{TELLS}\nfrom keras.layers", 1))
    assert bench.measure().status == 0
    (log,) = bench.runs()[-1].glob("cells/*/log.txt")
    (line,) = (one for one in log.read_text().splitlines() if one.startswith("loaded "))
    assert set(line.split()[1:]) == expected


def test_a_program_without_keras_finds_what_it_needs_of_the_guest() -> None:
    free = [
        "arrays", "clock", "process", "protocol", "scores", "turns", "frameworks.interface",
        "frameworks.layer_settings", "training.epochs", "training.example_file", "training.feeding",
        "proof.fingerprint", "proof.initializers",
    ]  # fmt: skip
    imports = "".join(f"; import kbench_guest.{name}" for name in free)
    code = f"import sys; sys.path.insert(0, sys.argv[1]); sys.modules['keras'] = None{imports}"
    subprocess.run([sys.executable, "-c", code, str(paths.GUEST)], check=True)
