"""The same weights predict otherwise: programs from Keras's issue tracker, written anew, on real backends."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_runs import Kbench

pytestmark = [pytest.mark.timeout(3600), pytest.mark.slow("several backends start")]
PROGRAMS = Path(__file__).parent / "predictions"


@pytest.mark.parametrize(
    ("program", "backends", "said"),
    [
        (
            "last_state",
            "keras2/cntk,keras2/tensorflow",
            ("on keras2/cntk than on keras2/tensorflow", "the cell state c"),
        ),
        pytest.param(
            "carried_kernels",
            "keras2/theano,keras2/tensorflow",
            ("on keras2/theano than on keras2/tensorflow: accuracy", "Its convolution kernels are flipped"),
            marks=pytest.mark.thorough,
        ),
        pytest.param(
            "moving_averages",
            "keras2/tensorflow,keras3/jax,keras3/torch",
            ("The same training predicts otherwise on keras2/tensorflow", "zero_debias"),
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_what_predicts_otherwise_is_told_first_and_why(
    program: str, backends: str, said: tuple[str, ...], kbench: Kbench
) -> None:
    run = kbench.script(PROGRAMS / f"{program}.py", backends)
    assert run.status == 0, run.output
    told = " ".join(run.output.split())
    assert all(text in told for text in said), run.output
    assert told.index("otherwise on") < told.index("s/")


@pytest.mark.thorough
def test_of_a_program_that_agrees_nothing_is_said_and_its_scores_are_columns(kbench: Kbench) -> None:
    run = kbench.script(PROGRAMS / "agreeing.py", "keras2/tensorflow,keras3/jax")
    assert run.status == 0, run.output
    assert "otherwise" not in run.output and "other outputs" not in run.output
    head = next(line for line in run.output.splitlines() if line.startswith("backend") and "s/call" in line)
    assert head.split()[-3:] == ["loss", "accuracy", "status"]


@pytest.mark.thorough
def test_backends_that_train_wrongly_or_not_at_all_predict_alike(kbench: Kbench) -> None:
    run = kbench.script(PROGRAMS / "last_state.py", "keras3/numpy,keras2/plaidml,keras3/jax")
    assert run.status == 0, run.output
    assert "Outputs agree" in run.output and "otherwise" not in run.output


@pytest.mark.thorough
def test_parity_compares_each_line_of_a_program_that_trains_nothing(kbench: Kbench) -> None:
    run = kbench.parity_of_script("keras2/tensorflow,keras2/cntk", PROGRAMS / "last_state.py")
    rows = {row["backend"]: row for row in run.parity()}
    assert rows["keras2/tensorflow"]["verdict"] == "same"
    assert rows["keras2/cntk"]["verdict"] == "differs"
    assert rows["keras2/cntk"]["first_layer_class"] == "LSTM"
    assert "the cell state c" in rows["keras2/cntk"]["notes"]
    assert run.status == 1
