"""The benchmark of the backends' settings: its candidates can be measured, and it tells good from bad."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from fake_bench import Bench
from fake_runs import cell

from kbench.base import paths
from kbench.cli import main
from kbench.errors import UserError
from kbench.records.epochs import Epoch
from kbench.records.values import OK, Measured, Outcome
from kbench.selection import backends, examples

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import backend_settings  # noqa: E402
import backend_variants as variants  # noqa: E402

KNOWN = backends.load_all(paths.project_folder("backends"))
CANDIDATES = variants.read(backend_settings.CANDIDATES, KNOWN)
CANDIDATE = '[[candidates]]\nbackend = "keras9/fake"\nname = "other"\nwhy = "a try"\n'


@pytest.mark.parametrize("one", CANDIDATES, ids=lambda one: one.variant)
def test_every_candidate_is_a_backend_that_can_be_measured(one: variants.Candidate, tmp_path: Path) -> None:
    backend = KNOWN[one.backend]
    shipped, variant = variants.write(tmp_path, backend, [one], BENCHMARKS)
    assert variant.name == one.variant and variant.recurrent == backend.recurrent
    assert {*variant.explained} <= {*backend.explained} and variant.python == backend.python
    different = variants.effective(variant) != variants.effective(shipped)
    assert different or variant.image_data_format != shipped.image_data_format or one.lock
    assert set(one.examples) <= set(backend_settings.SAMPLES)


def test_every_example_has_a_batch_at_least() -> None:
    shipped = examples.load_all(paths.project_folder("examples_models"))
    assert all(samples >= shipped[name].batch_size for name, samples in backend_settings.SAMPLES.items())


@pytest.mark.parametrize("name", sorted(name for name, one in KNOWN.items() if not one.unavailable))
def test_a_copy_of_a_backend_has_the_shipped_settings(name: str, tmp_path: Path) -> None:
    (copy,) = variants.write(tmp_path, KNOWN[name], [], BENCHMARKS)
    assert variants.effective(copy) == variants.effective(KNOWN[name])
    same = replace(copy, name=name, path=KNOWN[name].path, variables=KNOWN[name].variables)
    same = replace(same, builds=KNOWN[name].builds, compiled=KNOWN[name].compiled, explained=KNOWN[name].explained)
    assert same == KNOWN[name]


def test_a_candidate_of_other_packages_brings_their_lock(tmp_path: Path) -> None:
    (one,) = (one for one in CANDIDATES if one.variant == "keras2/tensorflow-intel")
    _, variant = variants.write(tmp_path, KNOWN[one.backend], [one], BENCHMARKS)
    (build,) = variant.builds
    assert build.lock is not None and "intel-tensorflow==1.15.2" in build.lock.read_text()
    assert build.distribution == "intel-tensorflow"


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("variables =", "variable =", "unknown field `variable`"),
        ('variables = {A = "1"}', "", "changes nothing"),
        ('why = "a try"', "", "missing required field `why`"),
        ('"other"', '"shipped"', "candidates.0..name"),
        ('"other"', '"Other-1"', "candidates.0..name"),
        ('"other"', "1", "Expected `str`"),
        ('"keras9/fake"', '"keras9/fkae"', "which is no backend"),
        ('{A = "1"}', '{A = "1"}\nwithout = ["B"]', "leaves out B, which keras9/fake does not set"),
        ('{A = "1"}', '{A = "1"}\nrequirements = ["a==1"]', "both `requirements` and `lock`"),
        ('{A = "1"}', '{A = "1"}\nrequirements = ["a==1"]\nlock = "a.lock"', "a.lock beside"),
        ('{A = "1"}', '{A = "1"}\nexamples = "mnist_mlp"', "Expected `array`"),
        ("[[candidates]]", "[[candidate]]", "unknown field `candidate`"),
        ("[[candidates]]", "[[candidates", "cannot be read"),
    ],
)
def test_a_mistake_in_a_candidate_is_named(bench: Bench, tmp_path: Path, right: str, wrong: str, said: str) -> None:
    file = tmp_path / "tries.toml"
    file.write_text((CANDIDATE + 'variables = {A = "1"}\n').replace(right, wrong))
    with pytest.raises(UserError, match=said):
        variants.read(file, backends.load_all(bench.backends))


def test_a_wrong_placeholder_or_layout_is_named_where_the_variant_is_written(bench: Bench, tmp_path: Path) -> None:
    known = backends.load_all(bench.backends)
    for change, said in (('variables = {A = "{thread}"}', "no other placeholders"), ('image_data_format = "x"', "x")):
        (tmp_path / "tries.toml").write_text(CANDIDATE + change)
        (one,) = variants.read(tmp_path / "tries.toml", known)
        with pytest.raises(UserError, match=said):
            variants.write(tmp_path / "variants", known["keras9/fake"], [one], tmp_path)


def test_two_candidates_of_the_same_name_are_refused(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "tries.toml").write_text(2 * (CANDIDATE + 'variables = {A = "1"}\n'))
    with pytest.raises(UserError, match="two candidates of the same name"):
        variants.read(tmp_path / "tries.toml", backends.load_all(bench.backends))


def cells(backend: str, *per_process: float, status: str = OK) -> list[Measured]:
    """A process for each number: its two steady epochs took so many seconds."""
    made = []
    for repeat, seconds in enumerate(per_process, 1):
        one = cell("mnist_mlp", backend, repeat=repeat, batch_size=32, samples=320, validation_samples=0)
        epochs = tuple(Epoch(number, seconds, 320) for number in (1, 2, 3) if status == OK)
        made.append(Measured(one, Outcome(status), epochs))
    return made


def test_shipped_settings_that_are_as_good_as_the_best_are_within_5_percent() -> None:
    judged = backend_settings.judge(
        [*cells("b-shipped", 1.04, 1.04, 1.04), *cells("b-x", 1, 1, 1)], "b-shipped", frozenset()
    )
    assert judged.verdict == backend_settings.WITHIN and judged.ratio == pytest.approx(1.04)
    assert [row.backend for row in judged.rows] == ["b-x", "b-shipped"]


def test_shipped_settings_that_are_shown_to_be_slower_are_beyond_5_percent() -> None:
    judged = backend_settings.judge(
        [*cells("b-shipped", 1.2, 1.21, 1.22), *cells("b-x", 1, 1, 1.01)], "b-shipped", frozenset()
    )
    assert judged.verdict == backend_settings.BEYOND


def test_where_the_interval_holds_5_percent_nothing_is_shown() -> None:
    judged = backend_settings.judge(
        [*cells("b-shipped", 0.9, 1.2, 1.4), *cells("b-x", 0.9, 1, 1.3)], "b-shipped", frozenset()
    )
    assert judged.verdict == backend_settings.UNSURE


def test_what_is_left_out_on_purpose_is_shown_and_not_compared_with() -> None:
    measured = [*cells("b-shipped", 1, 1, 1), *cells("b-x", 0.5, 0.5, 0.5)]
    judged = backend_settings.judge(measured, "b-shipped", frozenset({"b-x"}))
    assert judged.verdict == backend_settings.WITHIN and judged.ratio == 1
    assert judged.rows[0].backend == "b-x"


def test_shipped_settings_that_fail_do_not_pass() -> None:
    measured = [*cells("b-shipped", 0, 0, 0, status="failed"), *cells("b-x", 1, 1, 1)]
    assert backend_settings.judge(measured, "b-shipped", frozenset()).verdict == backend_settings.FAILED


def test_the_best_over_all_examples_is_by_the_geometric_mean() -> None:
    first = backend_settings.judge([*cells("b-shipped", 1, 1, 1), *cells("b-x", 4, 4, 4)], "b-shipped", frozenset())
    second = backend_settings.judge([*cells("b-shipped", 2, 2, 2), *cells("b-x", 1, 1, 1)], "b-shipped", frozenset())
    found = backend_settings.overall([first, second])
    assert found["b-shipped"] == (pytest.approx(2**0.5), 2) and found["b-x"] == (pytest.approx(2.0), 2)


@pytest.mark.processes
def test_it_measures_shipped_and_other_settings_side_by_side(
    bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def in_this_process(command: list[str], env: dict[str, str], **_: object) -> subprocess.CompletedProcess[str]:
        with bench.patch.context() as patch:
            patch.setenv("KBENCH_BACKENDS", env["KBENCH_BACKENDS"])
            assert command[1:3] == ["-m", "kbench"]
            return subprocess.CompletedProcess(command, main.main(command[3:]), "", "")

    bench.patch.setattr(backend_settings, "subprocess", SimpleNamespace(run=in_this_process))
    bench.backend(more='[variables]\nA = "1"\n')
    (tmp_path / "tries.toml").write_text(CANDIDATE + 'variables = {A = "2"}\n')
    options = ["--backends", "fake", "--examples", "my_example.py", "--candidates", str(tmp_path / "tries.toml")]
    status = backend_settings.main([*options, "--rounds", "1", "--epochs", "3", "--samples", "32", "--markdown"])
    said = capsys.readouterr()
    assert status in (0, 1), said.err  # as the machine's mood is: the figures are of milliseconds
    assert "### keras9/fake, my_example: shipped settings " in said.out
    assert "| **shipped**" in said.out and "| other " in said.out and "a try" in said.out
    assert "geometric mean over the examples" in said.out
    assert backend_settings.main(["--backends", "nothing", "--candidates", str(tmp_path / "tries.toml")]) == 2
