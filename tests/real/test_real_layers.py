"""The layer that makes a backend slow is named, and steps are traced, on real backends."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest
from real_runs import Finished, Kbench

from kbench import store
from kbench.cells import turns
from kbench.features.explain import layer_costs, sentences
from kbench.outputs.told import ToldRun
from kbench.records.values import Cell

pytestmark = pytest.mark.slow("steps are timed part by part")
PLANTED = Path(__file__).parent / "examples" / "planted.py"
SLOW = {where: f"keras3/{where}" for where in ("torch", "jax", "tensorflow")} | {"keras2": "keras2/tensorflow2"}
OTHER = {
    "torch": "keras3/jax", "jax": "keras3/tensorflow", "tensorflow": "keras3/jax", "keras2": "keras3/tensorflow",
}  # fmt: skip
CASES = [
    ("torch", "sleep"), ("torch", "copy"), ("torch", "cast"), ("torch", "compute"),
    ("jax", "sleep"), ("jax", "copy"), ("jax", "compute"),
    ("tensorflow", "sleep"), ("tensorflow", "copy"), ("tensorflow", "cast"),
    ("keras2", "sleep"),
]  # fmt: skip
IN_SHORT = [("torch", "sleep")]  # long enough to be told on a busy machine


def looked_into(kbench: Kbench, folder: Path, backends: str, kind: str, where: str, *options: str) -> Finished:
    example = folder / "planted.py"
    text = PLANTED.read_text("utf-8")
    example.write_text(
        text.replace('KIND = "none"', f'KIND = "{kind}"').replace('WHERE = "none"', f'WHERE = "{where}"')
    )
    # One thread: two of a framework that waits for the other process's turn are what would be measured otherwise.
    run = kbench.measure_apart(backends, str(example), "--repeats", "1", "--threads", "1", *options)
    assert run.status == 0, run.output
    return run


@pytest.mark.parametrize(
    ("where", "kind"), [pytest.param(*one, marks=[] if one in IN_SHORT else pytest.mark.thorough) for one in CASES]
)
def test_the_slow_layer_and_its_backend_are_named(
    kbench: Kbench, tmp_path: Path, where: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "DISTURBED", math.inf)  # by what else runs on this machine
    slow, fast = SLOW[where], OTHER[where]
    run = looked_into(kbench, tmp_path, f"{fast},{slow}", kind, where, "--explain", "--trace")
    analysis = ToldRun(run.results())
    said = [one for one in analysis.remarks if "a step takes" in one]
    assert len(said) == 1 and said[0].startswith(f"planted on {slow}: a step takes "), run.output
    assert f"ms longer than on {fast}: planted (Planted) +" in said[0]
    trained, costs = sentences.inside(analysis)
    own, other = ({row.backend: costs[row.key] for row in trained}[name] for name in (slow, fast))
    steps = {row.backend: (row.epoch_seconds or 0.0) / row.steps for row in trained}
    between = steps[slow] - steps[fast]
    first, *others = layer_costs.more(own, other, between)
    assert first.seconds > between / 2 and all(first.seconds > one.seconds for one in others), run.output
    assert own.step - other.step == pytest.approx(between, rel=0.1), run.output
    assert "planted: parts of a step, in ms" in run.output
    assert f"planted on {slow}: a step takes" in (run.folder / "summary.md").read_text("utf-8")
    for one in run.results().measured:
        check_trace(run, one.cell)


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(5))
@pytest.mark.parametrize("name", ["keras3/jax", "keras3/torch"])
def test_nothing_is_named_between_equal_models(kbench: Kbench, tmp_path: Path, name: str, number: int) -> None:
    equal = f"{name},{name}+SOME_VARIABLE={number}"
    run = looked_into(kbench, tmp_path, equal, "none", "none", "--explain")
    said = ToldRun(run.results()).remarks
    assert [one for one in said if not one.startswith("No layer is named")] == [], run.output


@pytest.mark.thorough
def test_steps_are_traced_for_perfetto(kbench: Kbench, tmp_path: Path) -> None:
    run = looked_into(kbench, tmp_path, "keras3/tensorflow", "none", "none", "--trace")
    check_trace(run, run.cell().cell)


def check_trace(run: Finished, cell: Cell) -> None:
    """Steps are traced for Perfetto."""
    file, name = store.cell_folder(run.folder, cell).path / "trace.json.gz", cell.backend
    with gzip.open(file, "rt", encoding="utf-8") as trace:
        events = json.load(trace)["traceEvents"]
    assert any(one.get("ph") == "X" and one.get("dur", 0) > 0 for one in events)
    assert f"planted on {name}: operations" in run.output and f"planted on {name}: functions of Keras" in run.output
    assert "trace.json.gz opens in Perfetto" in " ".join(run.output.split())
    page = (run.folder / "summary.md").read_text("utf-8")
    assert "keras/src/" in page and "trace.json.gz" in page
