"""Cases follow from signatures alone, and each has a program that Python can read."""

from __future__ import annotations

from typing import Any

import pytest

from kbench.coverage import cases
from kbench.coverage.program import in_words, of_case
from kbench.coverage.values import CHECKS, DIFFERS, FIT, FORMATS, GRADIENTS, CaseResult
from kbench.reported import Public

CONVOLUTION = (("filters", 1, None), ("kernel_size", 1, None), ("padding", 0, "valid"), ("use_bias", 0, True))
PUBLIC = {
    "layers.Conv1D": Public("layers.Conv1D", CONVOLUTION, ("inputs",)),
    "layers.Conv2D": Public("layers.Conv2D", CONVOLUTION, ("inputs",)),
    "layers.LSTM": Public("layers.LSTM", (("units", 1, None), ("go_backwards", 0, False)), ("sequences",)),
    "layers.Bidirectional": Public("layers.Bidirectional", (("layer", 1, None),), ("inputs",)),
    "layers.Add": Public("layers.Add", (), ("inputs",)),
    "layers.MultiHeadAttention": Public(
        "layers.MultiHeadAttention", (("num_heads", 1, None), ("key_dim", 1, None)), ("query", "value")
    ),
    "losses.hinge": Public("losses.hinge", (("y_true", 1, None), ("y_pred", 1, None))),
    "metrics.Hinge": Public("metrics.Hinge", (("name", 0, "hinge"),)),
    "optimizers.SGD": Public("optimizers.SGD", (("learning_rate", 0, 0.01), ("nesterov", 0, False))),
    "ops.add": Public("ops.add", (("x1", 1, None), ("x2", 1, None))),
    "ops.fori_loop": Public("ops.fori_loop", (("lower", 1, None), ("body_fun", 1, None))),
    "ops.concatenate": Public("ops.concatenate", (("xs", 1, None), ("axis", 0, -1))),
    "random.normal": Public("random.normal", (("shape", 1, None), ("mean", 0, 0.0))),
    "initializers.HeNormal": Public("initializers.HeNormal", (("seed", 0, None),)),
    "regularizers.L2": Public("regularizers.L2", (("l2", 0, 0.01),)),
}


def settings(name: str, **how: Any) -> list[str]:
    return [in_words(one) for one in cases.make(PUBLIC, name, **how)]


def test_a_name_is_tried_with_what_it_needs_and_with_each_setting_that_changes_its_result() -> None:
    assert settings("layers.Conv1D") == [
        "layers.Conv1D(filters=2, kernel_size=3)",
        "layers.Conv1D(filters=2, kernel_size=3, padding='same')",
        "layers.Conv1D(filters=2, kernel_size=3, padding='causal')",
        "layers.Conv1D(filters=2, kernel_size=3, use_bias=False)",
    ]
    assert settings("optimizers.*") == [
        "optimizers.SGD()",
        "optimizers.SGD(learning_rate=0.005)",
        "optimizers.SGD(nesterov=True)",
    ]


def test_a_setting_that_a_class_does_not_know_is_not_tried() -> None:
    assert not any("causal" in one for one in settings("layers.Conv2D"))


def test_a_sequence_is_also_tried_behind_a_mask() -> None:
    assert settings("layers.LSTM")[-1] == "layers.LSTM(units=3) behind a mask"
    assert settings("layers.Bidirectional")[0].startswith("layers.Bidirectional(layer=LSTM(units=3,")


def test_quick_tries_each_name_once_and_numbers_are_those_of_the_list() -> None:
    made = cases.make(PUBLIC, quick=True)
    assert len({one.name for one in made}) == len(made) == len(PUBLIC) - 2
    for found in (made, cases.make(PUBLIC)):
        assert [one.id for one in found] == list(range(len(found)))


def test_what_needs_something_unknown_has_no_case() -> None:
    assert settings("ops.fori_loop,ops.concatenate") == []


def test_only_mean_and_deviation_of_what_is_random_are_compared() -> None:
    drawn = {one.name for one in cases.make(PUBLIC) if one.random}
    assert drawn == {"random.normal", "initializers.HeNormal"}


@pytest.mark.parametrize("case", cases.make(PUBLIC), ids=in_words)
def test_each_case_has_a_program_and_inputs(case: cases.ProbeCase) -> None:
    assert case.inputs and {*case.inputs} <= {*cases.INPUTS}
    for inputs in case.inputs:
        program = of_case(CaseResult(case, "keras9/fake", DIFFERS, inputs=inputs), "fake")
        compile(program, "program.py", "exec")
        assert f"keras.{case.name}(" in program
        for check in CHECKS:
            program = of_case(CaseResult(case, "keras9/fake", DIFFERS, inputs=inputs, check=check), "fake")
            compile(program, "program.py", "exec")
            assert "train_on_batch" in program or check not in (GRADIENTS, FIT) or not case.name.startswith("layers.")
            assert "save" in program or check not in FORMATS or not case.name.startswith(("layers.", "optimizers."))
