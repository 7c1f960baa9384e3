"""What a backend compiles once is compiled before anything is timed, and not again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from fake_bench import EXAMPLE, Bench

from kbench import store
from kbench.base import paths

STUB = Path(__file__).parent.parent / "faults" / "stub_guest.py"
VARIABLES = '[variables]\nKEPT = "{cache}/kept/{example}"'
# Run by the stub: keeps a line for each of its processes, as a compiler would keep what it has made.
COMPILING = """
if "spec" in globals():
    kept = Path(os.environ["KEPT"])
    kept.mkdir(parents=True, exist_ok=True)
    with (kept / Path(spec["example"]).stem).open("a") as file:
        print(spec["epochs"], spec["samples"], file=file)
"""


@pytest.fixture
def compiler(bench: Bench) -> Bench:
    bench.patch.setattr(paths, "GUEST", STUB)
    bench.backend("keras9/fake", more=f'compiles = "{{cache}}/kept/{{example}}"\n{VARIABLES}')
    for name in ("one", "two"):
        bench.example(f"{name}.py", EXAMPLE + COMPILING)
    return bench


def kept(bench: Bench, example: str) -> Sequence[str]:
    """Epochs and samples of each process that ran the example."""
    (path,) = (bench.environment().parent / "compiled").glob(f"*/kept/{example}/{example}")
    return path.read_text().splitlines()


def test_one_batch_of_each_example_is_run_before_its_first_cell(compiler: Bench) -> None:
    said = compiler.measure("--repeats", "2", examples="one.py,two.py")
    assert said.status == 0
    assert kept(compiler, "one") == kept(compiler, "two") == ["1 8", "2 32", "2 32"]
    assert "keras9/fake: compiling 1 example before the measurement" in said.err
    # What the others take to compile does not delay the first one's table.
    order = [said.err.index(one) for one in ("compiled one in", "] one on keras9/fake", "compiled two in")]
    assert order == sorted(order)
    assert len(compiler.last().measured) == 4
    assert "compiling" not in compiler.measure(examples="one.py").err
    assert len(kept(compiler, "one")) == 4


def test_an_example_begins_with_what_is_compiled_for_others(compiler: Bench) -> None:
    for name in ("four", "five"):  # of no other test, which have this cache too
        compiler.example(f"{name}.py", EXAMPLE + COMPILING)
        compiler.measure(examples=f"{name}.py")
    (compiled,) = (compiler.environment().parent / "compiled").glob("*/kept")
    assert (compiled / "five" / "four").read_text() == (compiled / "four" / "four").read_text()
    assert kept(compiler, "five")[0] == "1 8"
    assert not (compiled / "four" / "five").exists()


def test_what_fails_to_compile_is_left_to_its_cell_and_compiled_again(compiler: Bench) -> None:
    compiler.example("three.py", EXAMPLE + COMPILING + "    os._exit(3)\n")
    said = compiler.measure(examples="three.py")
    assert said.status == 1 and ": compiled" not in said.err
    assert compiler.fates()["three"][0] == "failed"
    assert kept(compiler, "three") == ["2 32"]


def test_repeats_load_what_the_first_process_of_their_run_compiled(bench: Bench) -> None:
    bench.patch.setattr(paths, "GUEST", STUB)
    bench.backend("keras9/fake", more='[variables]\nKEPT = "{compiled}"')
    bench.example("one.py", EXAMPLE + COMPILING)
    for _ in range(2):  # a second run begins with nothing
        assert bench.measure("--repeats", "3", examples="one.py").status == 0
        cached = [one.outcome.compilation_cached for one in bench.last().measured]
        assert cached == [False, True, True]
        run = bench.last().folder
        assert not (run / "compiled").exists()
    # Nor does a run that goes on use what a killed kbench left.
    for measured in bench.last().measured:
        store.cell_folder(run, measured.cell).outcome.unlink()
        (run / "compiled" / measured.cell.row_id / "left").mkdir(parents=True, exist_ok=True)
    assert bench("resume", str(run)).status == 0
    assert [one.outcome.compilation_cached for one in bench.last().measured] == [False, True, True]


def test_what_a_failed_process_compiled_is_not_used(bench: Bench) -> None:
    bench.patch.setattr(paths, "GUEST", STUB)
    bench.backend("keras9/fake", more='[variables]\nKEPT = "{compiled}"')
    bench.example("one.py", f"{EXAMPLE}{COMPILING}    os._exit(3)\n")
    assert bench.measure("--repeats", "2", examples="one.py").status == 1
    assert not any(one.outcome.compilation_cached for one in bench.last().measured)
