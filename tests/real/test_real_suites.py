"""A suite on real backends: training, and inference of the same model with the same weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from real_runs import ABSOLUTE, RELATIVE, Kbench

from kbench.analysis.sameness import first_outputs
from kbench.analysis.summaries import summarise
from kbench.records.values import OK

pytestmark = [pytest.mark.timeout(3600), pytest.mark.slow("several backends start")]
SUITE = """
title = "Both"
[examples.mnist_mlp]
batch_size = [64]
task = ["train", "infer"]
infer = { batch_size = [1] }
[[tables]]
title = "alone"
columns = "hardware"
unit = "s/1,000 samples"
task = "infer"
"""


@pytest.mark.parametrize(
    "backends",
    [
        "keras3/jax,keras3/openvino",
        pytest.param("keras3/jax,keras3/torch,native/torch,keras3/openvino", marks=pytest.mark.thorough),
    ],
)
def test_inference_of_what_trains_is_that_model_with_its_first_weights(
    kbench: Kbench, tmp_path: Path, backends: str
) -> None:
    (tmp_path / "both.toml").write_text(SUITE)
    own = ("--suite", str(tmp_path / "both.toml"), "--samples", "128")
    run = kbench.measure(backends, "mnist_mlp", *own)
    rows = {(row.backend, row.task): row for row in summarise(run.results().measured)}
    assert {key: row.status for key, row in rows.items() if row.status != OK} == {
        ("keras3/openvino", "train"): "unsupported"
    }, run.output
    assert not any(row.differs for row in rows.values())
    assert all(row.latency_p99_seconds for row in rows.values() if row.task == "infer")
    predicted = {}
    for one in run.results().measured:
        if one.outcome.status == OK:
            found = first_outputs.of(one)
            assert found is not None
            predicted[one.cell.backend, one.facts.task] = found.numbers
    assert one.facts.optimizer is None or one.facts.task == "train"
    alone = [numbers for (_, task), numbers in predicted.items() if task == "infer"]
    assert len(alone) == len(backends.split(","))
    for numbers in alone:
        np.testing.assert_allclose(numbers, alone[0], RELATIVE, ABSOLUTE)
    assert "mnist_mlp: alone (s/1,000 samples)" in run.output
