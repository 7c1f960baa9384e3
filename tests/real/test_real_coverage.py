"""`coverage` on real backends: faults planted in a copy of Keras are found, each by its check, nothing else differs,
and programs show what a case gave.
"""

from __future__ import annotations

import base64
import csv
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from real_runs import KNOWN, Finished, Kbench

from kbench.environments import ensure
from kbench.features.coverage import events, results
from kbench.features.coverage.events import Output
from kbench.features.coverage.program import of_case
from kbench.features.coverage.values import GOOD, GRADIENTS, OUTPUTS

pytestmark = pytest.mark.slow("three backends start twice: to list their names, and to try them")
# Ten mistakes: a name, its file below keras/src (PyTorch has its own optimizers), what stands there, what is planted.
PLANTED = (
    # a sign
    ("layers.EinsumDense", "layers/core/einsum_dense.py", "ops.add(x, self.bias)", "ops.subtract(x, self.bias)"),
    # an axis
    ("layers.Softmax", "layers/activations/softmax.py", "axis=-1,", "axis=1,"),
    # an epsilon
    ("layers.GroupNormalization", "layers/normalization/group_normalization.py", "epsilon=1e-3,", "epsilon=1e-5,"),
    # a padding
    ("layers.Conv1D", "layers/convolutional/conv1d.py", "[left_pad, 0], [0, 0]]", "[0, left_pad], [0, 0]]"),
    # a gate
    (
        "layers.GRU",
        "layers/rnn/gru.py",
        "self.recurrent_activation(x_z + ",
        "self.recurrent_activation(x_r + ",
    ),
    # a default
    ("layers.LeakyReLU", "layers/activations/leaky_relu.py", "negative_slope=0.3", "negative_slope=0.2"),
    # the derivative of an activation
    ("layers.ReLU", "layers/activations/relu.py", "return activations.relu(", "return halved(activations.relu)("),
    # a reduction
    ("losses.CosineSimilarity", "losses/losses.py", "-ops.sum(y_true * y_pred,", "-ops.mean(y_true * y_pred,"),
    # a bias correction
    (
        "optimizers.Adam",
        "backend/torch/optimizers/torch_adam.py",
        "lr * ops.sqrt(1 - beta_2_power)",
        "lr * (1 - beta_2_power)",
    ),
    # a count that is off by one
    (
        "optimizers.Nadam",
        "backend/torch/optimizers/torch_nadam.py",
        "local_step = ops.cast(self.iterations + 1",
        "local_step = ops.cast(self.iterations + 2",
    ),
)
# Ten more, each at other values, gradients, masks or in training alone.
GENERIC = (
    ("losses.huber", "losses/losses.py", "half * ops.square(delta)", "half * delta"),
    ("layers.GaussianDropout", "layers/regularization/gaussian_dropout.py", ": self.rate,", ": round(self.rate, 1),"),
    (
        "optimizers.RMSprop",
        "backend/torch/optimizers/torch_rmsprop.py",
        "_mul(average_grads, average_grads)",
        "_mul(average_grads, torch._foreach_abs(average_grads))",
    ),
    (
        "optimizers.Adam",
        "backend/torch/optimizers/torch_adam.py",
        "torch._foreach_maximum_(v_hat_list, v_list)",
        "torch._foreach_copy_(v_hat_list, v_list)",
    ),
    (
        "layers.GlobalAveragePooling1D",
        "layers/pooling/global_average_pooling1d.py",
        "ops.sum(float_mask,",
        "ops.sum(ops.ones_like(float_mask),",
    ),
    (
        "layers.BatchNormalization",
        "layers/normalization/batch_normalization.py",
        "self._moments(inputs, mask)",
        "self._moments(inputs, None)",
    ),
    (
        "activations.hard_silu",
        "activations/activations.py",
        "return ops.hard_silu(x)",
        "return 1.01 * ops.hard_silu(x)",
    ),
    ("layers.GRU", "layers/rnn/gru.py", "r * h_tm1, self", "z * h_tm1, self"),
    (
        "layers.Attention",
        "layers/attention/attention.py",
        "self.concat_score_weight * ops.sum(",
        "2 * self.concat_score_weight * ops.sum(",
    ),
    ("metrics.FBetaScore", "metrics/f_score_metrics.py", "mean * (1 + (self.beta**2))", "mean * (1 + self.beta)"),
)
# Each of a kind: what is said without numbers, what acts on weights, labels, settings that are None or words by
# default, images, layers in training, data that a layer is adapted to, and arrays of unequal sizes.
FURTHER = (
    ("layers.RepeatVector", "layers/reshaping/repeat_vector.py", "(input_shape[0], self.n,", "(input_shape[0], 1,"),
    (
        "layers.Conv3DTranspose",
        "layers/convolutional/conv3d_transpose.py",
        "bias_regularizer=bias_regularizer,",
        "bias_regularizer=None,",
    ),
    (
        "metrics.SpecificityAtSensitivity",
        "metrics/confusion_metrics.py",
        "ops.add(self.true_negatives, self.false_positives)",
        "ops.subtract(self.true_negatives, self.false_positives)",
    ),
    ("metrics.binary_accuracy", "metrics/accuracy_metrics.py", "ops.greater(y_pred", "ops.greater_equal(y_pred"),
    ("metrics.R2Score", "metrics/regression_metrics.py", "ops.sum(total * raw_scores)", "ops.sum(total)"),
    (
        "losses.BinaryFocalCrossentropy",
        "losses/losses.py",
        "gamma=gamma,\n            from_logits=from_logits,",
        "gamma=gamma,\n            from_logits=False,",
    ),
    (
        "ops.image.pad_images",
        "ops/image.py",
        "= target_width - right_padding - width",
        "= target_width - right_padding",
    ),
    (
        "layers.RandomRotation",
        "layers/preprocessing/image_preprocessing/base_image_preprocessing_layer.py",
        "(-sin_theta + shear_x",
        "(sin_theta + shear_x",
    ),
    (
        "layers.RandomContrast",
        "layers/preprocessing/image_preprocessing/random_contrast.py",
        "* contrast_factor + inp_mean",
        "* contrast_factor - inp_mean",
    ),
    (
        "layers.Normalization",
        "layers/preprocessing/normalization.py",
        "np.var(data, axis=self._reduce_axis)",
        "np.std(data, axis=self._reduce_axis)",
    ),
    ("layers.Concatenate", "layers/merging/concatenate.py", "in input_shapes[1:]:", "in input_shapes[2:]:"),
)
IMAGES = "layers/preprocessing/image_preprocessing/"
# In layers: at gradients of inputs alone, a batch of another size, without training, where numbers are drawn, in
# another dtype, of whole numbers, within another layer, of rank 4, and where a setting equals a number of the inputs.
OF_LAYERS = (
    (
        "layers.EinsumDense",
        "layers/core/einsum_dense.py",
        "x = ops.einsum(self.equation, inputs, self.kernel)",
        "x = ops.einsum(self.equation, halved(lambda x: x)(inputs), self.kernel)",
    ),
    (
        "layers.LeakyReLU",
        "layers/activations/leaky_relu.py",
        "negative_slope=self.negative_slope\n",
        "negative_slope=self.negative_slope * len(inputs) / self.__dict__.setdefault('first', len(inputs))\n",
    ),
    ("layers.Solarization", f"{IMAGES}solarization.py", "if not training:", "if False:"),
    ("layers.Solarization", f"{IMAGES}solarization.py", "if training:", "if True:"),
    (
        "layers.RandomErasing",
        f"{IMAGES}random_erasing.py",
        ") * (image_length - crop_length)",
        ") * 0 + (image_length - crop_length)",
    ),
    (
        "layers.GroupNormalization",
        "layers/normalization/group_normalization.py",
        "return ops.cast(outputs, self.compute_dtype)",
        "return ops.cast(outputs, 'float32')",
    ),
    ("layers.Rescaling", "layers/preprocessing/rescaling.py", "dtype = self.compute_dtype", "dtype = inputs.dtype"),
    ("layers.BatchNormalization", "layers/rnn/time_distributed.py", '["training"] = training', '["training"] = True'),
    ("layers.Dot", "layers/merging/dot.py", "[:-1] + y_trail_dims", "[:-1] + y_trail_dims[::-1]"),
    ("metrics.R2Score", "metrics/regression_metrics.py", "== self.num_samples - 1", "== self.num_samples"),
)
# What is not refused any more, weights that `fit` forgets, and what is exported otherwise.
REFUSED = (
    ("layers.Dense", "layers/core/dense.py", "or units <= 0", "or units <= -9"),
    ("optimizers.SGD", "optimizers/base_optimizer.py", "if clip_args_sum > 1", "if clip_args_sum > 3"),
    (
        "losses.Poisson",
        "trainers/data_adapters/data_adapter_utils.py",
        "class_weight.get(int(y_numpy[i]), 1.0)",
        "1.0",
    ),
    (
        "metrics.MeanAbsoluteError",
        "trainers/compile_utils.py",
        "m.update_state(y_true, y_pred, sample_weight=sample_weight)",
        "m.update_state(y_true, y_pred)",
    ),
    (
        "layers.LeakyReLU",
        "layers/activations/leaky_relu.py",
        "return activations.leaky_relu(\n            inputs,",
        "import torch\n\n        return activations.leaky_relu(\n"
        "            2 * inputs if torch.compiler.is_exporting() else inputs,",
    ),
)
HALVED = """

def halved(function):
    def half(*args, **how):
        from keras.src import ops

        found = function(*args, **how)
        return 0.5 * found + 0.5 * ops.stop_gradient(found)

    return half
"""
RIGHT = (
    "layers.Conv2D", "layers.ELU", "layers.LSTM", "layers.Masking", "losses.Poisson", "ops.logsumexp",
    "optimizers.SGD", "random.normal",
)  # fmt: skip
# Keras's own faults: an axis that is forgotten in a configuration, and several axes that are in a .h5 file.
FAULTY = {"layers.Softmax", "losses.CosineSimilarity"}
# Names with each kind of input, and of each form that a program has.
SHOWN = (
    "activations.gelu", "constraints.UnitNorm", "layers.Attention", "layers.Conv1D", "layers.LSTM", "layers.LSTMCell",
    "layers.Lambda", "layers.MaxPooling2D", "losses.CTC", "losses.CategoricalCrossentropy", "metrics.Accuracy",
    "metrics.hinge", "ops.concatenate", "ops.dtype", "ops.einsum", "ops.fft", "ops.max", "ops.scan",
    "ops.segment_sum", "ops.solve", "ops.take", "optimizers.Adam", "regularizers.L2",
)  # fmt: skip
WEIGHTLESS = ("layers.MaxPooling2D",)
# Without optimizers: kbench orders the updates of their backend, a plain program does not.
OLD = (
    "activations.elu", "constraints.UnitNorm", "layers.Conv1D", "layers.LSTM", "layers.Lambda", "layers.Dot",
    "losses.categorical_crossentropy", "metrics.categorical_accuracy",
)  # fmt: skip
# Runs the programs of a list in a file, each alone, and writes the numbers that they print.
RUNNER = """
import json, sys
import numpy as np

def numbers(value):
    if isinstance(value, (list, tuple)):
        return [one for part in value for one in numbers(part)]
    if isinstance(value, dict):
        return [one for key in sorted(value) for one in numbers(value[key])]
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if "bfloat16" in str(value.dtype) else value
    value = np.asarray(value).ravel()[:256]
    return value.astype("complex128").view("float64").tolist()

found = []
for program in json.load(open(sys.argv[1])):
    seen = []
    exec(program, {"print": lambda *values: seen.extend(numbers(values))})
    found.append(seen)
json.dump(found, open(sys.argv[2], "w"))
"""
ONLY = "layers.EinsumDense,layers.UnitNormalization,activations.softsign,ops.logsumexp,random.normal,optimizers.SGD"
# In each file: what is right, and what is put in its place.
FAULTS = {
    "layers/core/einsum_dense.py": ("ops.add(x, self.bias)", "ops.subtract(x, self.bias)"),
    "layers/normalization/unit_normalization.py": ('config.update({"axis": self.axis})', ""),
    # Half of its gradient, and all of its value.
    "activations/activations.py": (
        "return ops.softsign(x)",
        "return (ops.softsign(x) + ops.stop_gradient(ops.softsign(x))) / 2",
    ),
}


def states(run: Finished) -> dict[tuple[str, str], set[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    with (run.folder / "coverage.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault((row["backend"], row["name"]), set()).add(row["state"])
    return found


def python_of(backend: str) -> tuple[Path, dict[str, str]]:
    """The Python of a backend's environment, and the variables that its cells get."""
    about = KNOWN[backend]
    environment = ensure.ensure(about, about.builds[0], explicit=None)
    return environment.python, {**os.environ, **ensure.variables(environment, threads=1)}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "planted",
    [PLANTED, GENERIC, FURTHER, OF_LAYERS, REFUSED],
    ids=["anywhere", "generic", "further", "layers", "refused"],
)
def test_mistakes_in_a_copy_of_keras_are_found_and_nothing_else(
    kbench: Kbench, tmp_path: Path, planted: tuple[tuple[str, str, str, str], ...]
) -> None:
    python, _ = python_of("keras3/torch")
    (installed,) = python.parent.parent.glob("lib/python*/site-packages/keras")
    shutil.copytree(installed, tmp_path / "keras")
    for _, name, right, wrong in planted:
        file = tmp_path / "keras" / "src" / name
        text = file.read_text("utf-8")
        assert right in text, (name, right)
        file.write_text(text.replace(right, wrong) + HALVED * ("halved" in wrong), "utf-8")

    copy = f"keras3/torch+keras={tmp_path}"
    only = ",".join([*(name for name, *_ in planted), *RIGHT])
    run = kbench.coverage(f"keras3/torch,{copy}", only)
    assert run.status == 1, run.output  # --fail-on differs
    found = states(run)
    assert len(found) == 2 * len({*(name for name, *_ in planted), *RIGHT})
    with (run.folder / "coverage.csv").open(newline="") as table:
        rows = [
            (one["backend"], one["name"], one["settings"], one["inputs"])
            for one in csv.DictReader(table)
            if one["state"] == "differs"
        ]
    of_keras = {row[1:] for row in rows if row[0] != copy}
    of_copy = {row[1:] for row in rows if row[0] == copy} - of_keras
    assert {name for name, *_ in of_copy} == {name for name, *_ in planted}, run.output
    assert {name for name, *_ in of_keras} <= FAULTY, run.output
    if planted == PLANTED:
        assert re.search(r"layers\.Softmax\(\)[\w ]* differs from keras3/numpy", " ".join(run.output.split()))


@pytest.mark.thorough
@pytest.mark.parametrize(("backend", "only"), [("keras3/torch", SHOWN), ("keras2/tensorflow", OLD)])
def test_the_program_of_a_case_prints_what_the_case_gave(
    kbench: Kbench, tmp_path: Path, backend: str, only: tuple[str, ...]
) -> None:
    run = kbench.coverage(backend, ",".join(only), "--seed", "3")
    told = {
        number: case
        for one in run.results().measured
        if one.cell.backend == backend
        for number, case in events.cases(one.facts).items()
    }
    shown = [one for row in results.names(run.results()) for one in row.cases if one.state in GOOD]
    shown = [one for one in shown if not one.case.random and told[one.case.id].outputs]
    assert {one.case.name for one in shown} == {*only}, run.output
    keras_backend = KNOWN[backend].keras_backend
    programs = [of_case(replace(one, check=OUTPUTS), keras_backend) for one in shown]
    # A layer without weights shows by those before it what its inputs' gradients are.
    stepped = [one for one in shown if one.case.name in WEIGHTLESS and told[one.case.id].gradients]
    programs += [of_case(replace(one, check=GRADIENTS), keras_backend) for one in stepped]
    (tmp_path / "programs.json").write_text(json.dumps(programs), "utf-8")
    (tmp_path / "runner.py").write_text(RUNNER, "utf-8")
    python, variables = python_of(backend)
    asked = [str(python), "runner.py", "programs.json", "found.json"]
    ended = subprocess.run(asked, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    printed = json.loads((tmp_path / "found.json").read_text())
    for one, program, found in zip(shown, programs, printed, strict=False):
        right = [number for output in told[one.case.id].outputs for number in numbers(output)]
        assert np.allclose(found, right, rtol=1e-3, atol=1e-5, equal_nan=True), program
    assert stepped or backend != "keras3/torch"
    for one, program, found in zip(stepped, programs[len(shown) :], printed[len(shown) :], strict=True):
        gradients = told[one.case.id].gradients or ()
        after = [np.eye(each.shape[0]).ravel() - numbers(each).reshape(-1, 2)[:, 0] for each in gradients]
        assert np.allclose(np.reshape(found, (-1, 2))[:, 0], np.concatenate(after), atol=1e-5), program


def numbers(output: Output) -> Any:
    """Real and imaginary parts, as RUNNER writes them."""
    found = np.frombuffer(base64.b64decode(output.numbers), "<f4").astype("float64")
    return found if output.kind == "c" else np.stack([found, np.zeros_like(found)], -1).ravel()


def test_a_wrong_sign_a_forgotten_setting_and_a_wrong_gradient_are_found_and_nothing_else(
    kbench: Kbench, tmp_path: Path
) -> None:
    python, _ = python_of("keras3/torch")
    (installed,) = python.parent.parent.glob("lib/python*/site-packages/keras")
    shutil.copytree(installed, tmp_path / "keras")
    for name, (right, wrong) in FAULTS.items():
        file = tmp_path / "keras" / "src" / name
        assert right in file.read_text("utf-8")
        file.write_text(file.read_text("utf-8").replace(right, wrong), "utf-8")

    run = kbench.coverage(f"keras3/torch+keras={tmp_path}", ONLY)
    assert run.status == 1, run.output  # --fail-on differs
    found = states(run)
    names = {"layers.EinsumDense", "layers.UnitNormalization", "activations.softsign"}
    assert {name for (_, name), one in found.items() if "differs" in one} == names, run.output
    assert len(found) == 6, found
    others = {state for (_, name), one in found.items() if name not in names for state in one}
    assert others <= {"same", "works"}, run.output  # NumPy trains nothing that an optimizer could be compared with
    said = " ".join(run.output.split())
    assert "bias_axes='d') differs from keras3/numpy" in said
    assert "layers.UnitNormalization(axis=1) differs: made again of its configuration it differs: axis -1" in said
    assert "activations.softsign() differs from keras3/numpy+policy=float64: its gradients are not those of" in said
    assert not (run.folder / "saved").exists()


@pytest.mark.thorough
def test_weights_are_read_of_the_model_that_has_them_though_another_was_compiled_later(kbench: Kbench) -> None:
    run = kbench.coverage("keras2/mxnet", "optimizers.SGD")
    (row,) = (one for one in results.names(run.results()) if one.backend == "keras2/mxnet")
    found = {json.dumps(one.case.settings): (one.state, one.sentence) for one in row.cases}
    assert found["{}"][0] in GOOD
    # keras-mxnet saves no momentum.
    assert any(
        "saved in a .h5 file" in sentence for settings, (_, sentence) in found.items() if "momentum" in settings
    )
