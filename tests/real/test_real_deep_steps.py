"""Mistakes in one setting of a deep network, on a real backend: its first step shows each, and rounding is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from probing import CLASSES, SAMPLES, Job, data, probe
from real_runs import CHECKOUT

from kbench.analysis.sameness import first_steps
from kbench.words.sentences import sentence

pytestmark = [pytest.mark.timeout(1800), pytest.mark.thorough]

NETWORK = (CHECKOUT / "examples_models" / "resnet56.py").read_text("utf-8")
# Settings are changed behind the back of what kbench compares of a model's settings: only the step shows them.
CHANGED = """

def build_model(input_shape, num_classes, right=build_model):
    model = right(input_shape, num_classes)
    for layer in model.layers:
        CHANGE
    return model
"""
SCALED = """
from keras.optimizers import SGD


class Scaled(SGD):
    def apply(self, grads, trainable_variables=None):
        return super().apply([one * (FACTOR) for one in grads], trainable_variables)


def OPTIMIZER():
    return Scaled(0.01, momentum=0.9)
"""
NORMALIZATION = "if isinstance(layer, BatchNormalization): layer."
# What is added to the network -> what its first step shows of that.
MISTAKES = {
    "momentum": (CHANGED.replace("CHANGE", f"{NORMALIZATION}momentum = 0.91"), "'s moving_"),
    "epsilon": (CHANGED.replace("CHANGE", f"{NORMALIZATION}epsilon = 1e-3"), "the "),
    "decay": (
        CHANGED.replace("CHANGE", "if hasattr(layer, 'kernel'): layer.kernel.regularizer = l2(5.5e-5)"),
        "the loss of the first batch: ",
    ),
    "rate": ("\nOPTIMIZER['learning_rate'] = 0.0101\n", "the first optimizer step: "),
    "rate_of_kernels": (
        SCALED.replace("FACTOR", "1.01 if len(one.shape) == 4 else 1.0"),
        "the first optimizer step: of 55 Conv2D layers, kernel changes 1.01 times as much (median)",
    ),
    "rate_of_betas_and_gammas": (
        SCALED.replace("FACTOR", "1.01 if len(one.shape) == 1 and one.shape[0] > 10 else 1.0"),
        "the first optimizer step: of 55 BatchNormalization layers, ",
    ),
}


def test_a_wrong_setting_of_a_deep_network_is_seen_in_its_first_step(tmp_path: Path) -> None:
    random = np.random.RandomState(0)
    images = random.rand(SAMPLES, 32, 32, 3).astype("float32")
    arrays = data(tmp_path / "images", [images], [random.randint(0, CLASSES, SAMPLES)])
    jobs = {}
    for name, (text, _) in {"right": ("", ""), **MISTAKES}.items():
        file = tmp_path / f"{name}.py"
        file.write_text(NETWORK + text)
        jobs[name] = Job(file, arrays)
    on_torch = probe(tmp_path / "torch", "keras3/torch", jobs, "channels_last")
    right = probe(tmp_path / "jax", "keras3/jax", {"right": jobs["right"]}, "channels_last")["right"]
    assert first_steps.compare(on_torch["right"], right) == (None, ())
    found = {name: first_steps.compare(on_torch[name], right)[0] for name in MISTAKES}
    texts = {name: "" if one is None else sentence(one) for name, one in found.items()}
    assert {name: said for name, said in texts.items() if MISTAKES[name][1] not in said} == {}, texts
