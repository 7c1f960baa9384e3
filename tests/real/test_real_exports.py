"""Models that Keras exports, run by runtimes without Keras."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from real_runs import ABSOLUTE, RELATIVE, Kbench

from kbench.analysis.sameness import first_outputs
from kbench.analysis.summaries import summarise
from kbench.records.values import OK

pytestmark = [
    pytest.mark.timeout(3600),
    pytest.mark.slow("TensorFlow exports models for three runtimes"),
]
EXPORTS = ("export/onnx", "export/openvino", "export/tflite")

# Two named inputs and two outputs that mean different things: none may change places.
TWO = '''"""Two inputs, two outputs."""
import numpy as np
from keras.layers import Concatenate, Dense, Input
from keras.models import Model

BATCH_SIZE = 4
TASK = "infer"
PROFILES = {"full": {"samples": 8, "epochs": 2}}


def load_data():
    numbers = np.random.RandomState(0)
    data = {"zeta": numbers.rand(8, 3).astype("float32"), "alpha": numbers.rand(8, 5).astype("float32")}
    return (data, np.zeros(8, "int32")), (data, np.zeros(8, "int32"))


def build_model(input_shape, num_classes):
    zeta, alpha = Input(shape=input_shape["zeta"], name="zeta"), Input(shape=input_shape["alpha"], name="alpha")
    both = Concatenate()([Dense(4)(zeta), Dense(2)(alpha)])
    return Model({"zeta": zeta, "alpha": alpha}, [Dense(2, name="second")(both), Dense(3, name="first")(both)])
'''


@pytest.mark.parametrize(
    ("runtimes", "shipped"),
    [
        (("export/onnx",), ()),
        pytest.param(EXPORTS, ("mnist_cnn",), marks=pytest.mark.thorough),
    ],
)
def test_an_exported_model_computes_what_keras_does_and_is_compared(
    kbench: Kbench, tmp_path: Path, runtimes: tuple[str, ...], shipped: tuple[str, ...]
) -> None:
    (tmp_path / "two.py").write_text(TWO)
    own = ("--task", "infer")
    backends = f"keras3/tensorflow,{','.join(runtimes)}"
    run = kbench.measure(backends, ",".join([str(tmp_path / "two.py"), *shipped]), *own)
    assert run.status == 0, run.output
    rows = summarise(run.results().measured)
    assert len(rows) == (1 + len(runtimes)) * (1 + len(shipped))
    assert {row.status for row in rows} == {OK}, run.output
    assert not any(row.differs for row in rows), run.output
    for example in ("two", *shipped):
        found = [first_outputs.of(one) for one in run.results().measured if one.cell.example == example]
        for outputs in found:
            assert outputs is not None and found[0] is not None
            np.testing.assert_allclose(outputs.numbers, found[0].numbers, RELATIVE, ABSOLUTE)
    for one in run.results().measured:
        assert ("export" in one.phases) == (one.cell.backend in EXPORTS)
        assert all(epoch.step_seconds for epoch in one.epochs)


@pytest.mark.thorough
def test_what_a_runtime_cannot_run_is_unsupported_with_its_own_sentence(kbench: Kbench) -> None:
    run = kbench.measure(",".join(EXPORTS), "babi_rnn", "--task", "infer", "--samples", "64")
    found = {one.cell.backend: one.outcome for one in run.results().measured}
    assert found["export/onnx"].status == OK
    assert found["export/openvino"].status == found["export/tflite"].status == "unsupported"
    assert "No conversion rule found for operations: TensorList" in found["export/openvino"].reason
    assert "Select TensorFlow op(s)" in found["export/tflite"].reason
