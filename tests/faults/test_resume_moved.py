"""A run is gone on with after its project, or kbench, has another folder or name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from fake_bench import Bench

from kbench import store
from kbench.base import paths
from kbench.planning import plan

PROGRAM = "import keras\nprint('done')\n"


def without_an_outcome(run: Path, example: str) -> None:
    (outcome,) = run.glob(f"cells/{example}__*/outcome.json")
    outcome.unlink()


def test_a_run_of_a_project_that_was_renamed_is_gone_on_with_and_only_what_is_missing_is_measured(
    bench: Bench,
) -> None:
    project = bench.folder / "project"
    (project / "models").mkdir(parents=True)
    for name in ("my_example.py", "patterns.npz"):
        shutil.move(bench.folder / name, project / "models" / name)
    (project / "program.py").write_text(PROGRAM)
    bench.patch.chdir(project)
    assert bench.measure("--name", "mine", examples="models/my_example.py").status == 0
    assert bench("script", "program.py", "--backends", "fake", "--device", "cpu", "--name", "other").status == 0
    project.rename(bench.folder / "renamed")
    bench.patch.chdir(bench.folder / "renamed")
    for name, example, count in (("mine", "my_example", "0 of 1"), ("other", "program.py", "0 of 1")):
        run = bench.folder / "renamed" / "results" / name
        said = bench("resume", name)
        assert said.status == 0 and f"Resuming {name}: {count} cells" in said.out, said
        without_an_outcome(run, example)
        said = bench("resume", name)
        assert said.status == 0 and "1 of 1 cells" in said.out, said
        assert [one.outcome.status for one in store.read(run).measured] == ["ok"]


def test_another_file_of_the_same_name_is_not_taken_for_the_one_that_was_measured(bench: Bench) -> None:
    bench.measure("--name", "mine")
    example = bench.folder / "my_example.py"
    example.rename(bench.folder / "elsewhere.py")
    (bench.results / "my_example.py").write_text((bench.folder / "elsewhere.py").read_text() + "# another one\n")
    said = bench("resume", "mine")
    assert said.status == 2 and "The example" in said.err and "my_example.py cannot be read" in said.err


def test_an_example_of_kbenchs_own_is_found_wherever_kbench_is(bench: Bench) -> None:
    bench.measure("--name", "mine", examples="mnist_mlp", backends="fake")
    run = bench.results / "mine"
    record = json.loads((run / "run.json").read_text())
    record["request"]["examples"] = ["/gone/kbench/examples_models/mnist_mlp.py"]
    (run / "run.json").write_text(json.dumps(record))
    said = bench("resume", "mine")
    assert "Resuming mine: 0 of 1 cells" in said.out, said


def test_the_examples_of_every_committed_run_of_kbench_are_found() -> None:
    """Their paths are those of the machine that measured them."""
    from kbench.planning import request
    from kbench.session import resume

    found = 0
    for run in store.by_time(paths.PACKAGE.parent / "results", packed=True):
        there = store.read_record(run)
        if "kind" in there.plan or "backends" not in there.request:
            continue
        asked = resume.where_they_are_now(request.read(there.request, run), there)
        for path in asked.examples:
            assert plan.example_loader(asked)(paths.with_home(path)).name in there.examples
            found += 1
    assert found > 5
