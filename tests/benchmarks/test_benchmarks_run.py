"""Every benchmark still starts; it measures and prints, at the smallest size that it has: the longest with -m ''."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import left_out
import pytest
from original_data import MIRROR

from kbench.base import paths
from kbench.environments import ensure
from kbench.errors import Unavailable, Unsupported
from kbench.machine import devices
from kbench.selection import backends, builds

pytestmark = [pytest.mark.timeout(1800), pytest.mark.slow("it is the real benchmark, small")]

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
KNOWN = backends.load_all(paths.project_folder("backends"))
CANDIDATE = """
[[candidates]]
backend = "keras3/jax"
name = "no_fast_math"
why = "to see that it starts"
variables = {XLA_FLAGS = "--xla_cpu_enable_fast_math=false"}
"""


def printed(benchmark: str, *options: str, statuses: tuple[int, ...] = (0,)) -> str:
    """What the benchmark prints; its exit status is one of these."""
    data = {"KBENCH_DATA": str(MIRROR)} if MIRROR.is_dir() else {}
    ended = subprocess.run(
        [sys.executable, str(BENCHMARKS / benchmark), *options],
        env={**os.environ, **data},
        capture_output=True,
        text=True,
    )
    assert ended.returncode in statuses, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize(
    "path",
    [one for one in sorted(BENCHMARKS.glob("*.py")) if "parse_args" in one.read_text()],
    ids=lambda one: one.stem,
)
def test_each_says_what_it_takes(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [str(path), "--help"])
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(path), run_name="__main__")
    assert ended.value.code == 0 and capsys.readouterr().out.startswith(f"usage: {path.name} ")


def needed(*names: str) -> None:
    """Skips the test where one of these backends cannot be installed."""
    for name in names:
        try:
            ensure.ensure(KNOWN[name], builds.pick_build(KNOWN[name], devices.CPU))
        except (Unavailable, Unsupported) as error:
            left_out.skip(f"{name} is needed, which cannot be installed here: {error}")


@pytest.mark.thorough
def test_report_scale() -> None:
    small = ("--cells", "8", "--epochs", "2", "--repeats", "1", "--steps", "2", "--no-goals")
    said = printed("report_scale.py", *small)
    assert said.startswith("8 cells, 16 epochs") and "compare a b" in said


@pytest.mark.thorough
def test_cluster_scale() -> None:
    said = printed("cluster_scale.py", "--workers", "2", "--cells", "40", statuses=(0, 1))  # 1: it was not flat
    assert "CPU ms per cell" in said and "x the processor time" in said


def test_table_verdicts() -> None:
    small = ("--tables", "2", "--rows", "2", "--processes", "1", "--only", "processes 5")
    (line,) = printed("table_verdicts.py", *small).splitlines()
    assert line.startswith("processes 5 %") and "2 rows" in line and "false" in line


@pytest.mark.thorough
def test_process_spreads() -> None:
    said = printed("process_spreads.py")
    assert said.splitlines()[1].split()[:2] == ["all", "all"]


@pytest.mark.thorough
def test_training_spreads() -> None:
    head, *lines = printed("training_spreads.py").splitlines()
    assert head.split()[0] == "kind" and any(line.startswith("random-layers  mnist_mlp 10000") for line in lines)


def test_learning_verdicts() -> None:
    head, *lines = printed("learning_verdicts.py", "--tables", "4", "--only", "found").splitlines()
    assert head.startswith("worse by") and any(line.startswith("mnist_mlp, 10000, 8 epochs") for line in lines)


def test_calibration() -> None:
    rows = [line.split() for line in printed("calibration.py", "--subsets", "2").splitlines()]
    assert {"all", "each"} <= {row[0] for row in rows if row} and rows[-1][2].endswith("%")


@pytest.mark.thorough
def test_turns() -> None:
    needed("keras3/jax", "keras3/torch")
    small = ("--pairs", "1", "--samples", "1280", "--examples", "mnist_mlp")
    said = printed("turns.py", *small, "--backends", "keras3/jax,keras3/torch")
    assert len(said.splitlines()) == 2 and "in turns / alone: " in said


def test_run_minutes() -> None:
    head, *rows, outside = printed("run_minutes.py", str(paths.project_folder("results") / "reference")).splitlines()
    assert head.split() == ["minutes", "start", "checks", "epochs", "rest", "short", "all"]
    name, *numbers = rows[-1].split()
    assert name == "all" and sum(map(float, numbers[:-1])) == pytest.approx(float(numbers[-1]), abs=0.1)
    assert outside.startswith("compiling first")


@pytest.mark.thorough
def test_simulated_processors() -> None:
    needed("keras3/jax", "keras3/torch")
    small = ("--points", "2", "--examples", "mnist_mlp", "--backends", "keras3/jax,keras3/torch")
    head, *lines, last = printed("simulated_processors.py", *small).splitlines()
    assert head.split()[:2] == ["example", "backend"]
    # Two of a usual process, and two with other instructions; honest rows are marked by no two points.
    rows = [line.split() for line in lines]
    assert [row[:3] for row in rows] == [["mnist_mlp", f"keras3/{name}", "4"] for name in ("jax", "torch")]
    assert all(int(row[3]) >= int(row[4]) == 0 for row in rows)
    assert last.split() == ["all", "8", str(sum(int(row[3]) for row in rows)), "0"]


@pytest.mark.thorough
def test_observer() -> None:
    needed("keras3/jax", "keras3/torch")
    small = ("--processes", "1", "--epochs", "2", "--examples", "mnist_mlp")
    head, *lines = printed("observer.py", *small, "--backends", "keras3/jax,keras3/torch").splitlines()
    assert head.split()[:2] == ["example", "backend"]
    for line, name in zip(lines, ("keras3/jax", "keras3/torch"), strict=True):
        example, backend, bare, *_, whole, short = line.split()
        assert (example, backend) == ("mnist_mlp", name)
        assert all(number == "-" or float(number) > 0 for number in (bare, whole, short))


@pytest.mark.thorough
def test_cost_of_checks() -> None:
    head, line = printed(
        "cost_of_checks.py", "--pairs", "1", "--examples", "mnist_mlp", "--backends", "keras3/jax"
    ).splitlines()
    assert head.split()[:2] == ["example", "backend"]
    example, backend, checks, whole = line.split()
    assert (example, backend) == ("mnist_mlp", "keras3/jax") and 0 < float(checks) < float(whole)


@pytest.mark.thorough
def test_guest_start() -> None:
    needed("keras3/jax")
    small = ("--pairs", "1", "--backends", "keras3/jax", "--before", str(BENCHMARKS.parent))
    head, line = printed("guest_start.py", *small).splitlines()
    assert head.split()[:3] == ["backend", "keras", "(ms)"]
    backend, of_keras, modules, of_guest, modules_before, before, ratio = line.split()
    assert backend == "keras3/jax" and modules == modules_before and int(modules) > 10
    assert all(float(number) > 0 for number in (of_keras, of_guest, before, ratio))


@pytest.mark.thorough
def test_script_overhead() -> None:
    needed("keras3/jax")
    small = ("--pairs", "1", "--processes", "1", "--model", "conv")
    (line,) = printed("script_overhead.py", *small, "--backends", "keras3/jax").splitlines()
    assert line.startswith("keras3/jax") and "in 1 pairs; process x " in line and line.endswith(" s more")


@pytest.mark.thorough
def test_backend_settings_and_variants(tmp_path: Path) -> None:
    needed("keras3/jax")
    (tmp_path / "tries.toml").write_text(CANDIDATE)
    small = ("--examples", "mnist_mlp", "--rounds", "1", "--epochs", "2", "--samples", "256")
    asked = ("--backends", "keras3/jax", "--candidates", str(tmp_path / "tries.toml"))
    said = printed("backend_settings.py", *asked, *small, statuses=(0, 1))  # 1: what is shipped was slower
    assert "no_fast_math" in said and "geometric mean over the examples" in said
    assert "did not run" not in said


@pytest.mark.thorough
def test_verdict() -> None:
    needed("keras3/jax")
    (line,) = printed("verdict.py", "--what", "same", "--tables", "1").splitlines()
    assert line.startswith("bursts") and "the same backend three times" in line


@pytest.mark.thorough
def test_planted(tmp_path: Path) -> None:
    needed("keras3/torch", "keras3/numpy")
    asked = (str(tmp_path), "--mutants", "0", "--names", "ops.hard_silu,losses.huber,layers.Attention")
    said = printed("planted.py", *asked)
    assert "quick   hard_silu is off by 1 %: broke: ops.hard_silu()" in said
    assert 'all     Attention(score_mode="concat") has a wrong sign: broke: layers.Attention(' in said
    assert "missed  the configuration of GaussianDropout" in said, "its name was not asked for"
    assert said.splitlines()[-1].split()[:3] == ["by", "hand", "10"]
    assert said.endswith(printed("planted.py", *asked)), "nothing is tried again"
    assert printed("planted.py", *asked, "--control") == "Nothing differs where nothing is planted.\n"
