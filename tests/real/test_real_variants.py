"""Real backends in two versions, and with settings that are proved."""

from __future__ import annotations

import numpy as np
import pytest
from real_runs import Kbench

from kbench.analysis.summaries import summarise
from kbench.records.values import OK

pytestmark = [pytest.mark.timeout(3600), pytest.mark.slow("four backends start")]
JIT = ("keras3/tensorflow+jit=on", "keras3/tensorflow+jit=off")
OLDER = "keras3/jax@0.9+policy=mixed_bfloat16"


@pytest.mark.parametrize("jit", [(), pytest.param(JIT, marks=pytest.mark.thorough)], ids=["", "jit"])
def test_two_versions_and_jit_on_and_off_stand_in_one_table(kbench: Kbench, jit: tuple[str, ...]) -> None:
    backends = ["keras3/jax", OLDER, *jit]
    run = kbench.measure(",".join(backends), "mnist_mlp", "--samples", "256", "--baseline", "keras3/jax")
    assert run.status == 0, run.output
    rows = {row.backend: row for row in summarise(run.results().measured)}
    assert {name: (row.status, row.differs) for name, row in rows.items()} == dict.fromkeys(backends, (OK, ()))
    assert len({row.fingerprint for row in rows.values()}) == 1
    assert rows[OLDER].backend_version.startswith("0.9.")
    assert not rows["keras3/jax"].backend_version.startswith("0.9.")
    facts = {one.cell.backend: one.facts for one in run.results().measured}
    assert [facts[name].jit for name in ("keras3/jax", *jit)] == ["on", "on", "off"][: 1 + len(jit)]
    assert facts["keras3/jax"].computes_in == ("float32",)
    assert "bfloat16" in (facts[OLDER].computes_in or ())
    outputs = {name: np.array(facts[name].probe) for name in backends}
    apart = {name: np.abs(outputs[name] - outputs["keras3/jax"]).max() for name in backends}
    assert all(apart[name] < 1e-5 for name in jit) and apart[OLDER] > 1e-5, "it really computed in another precision"
