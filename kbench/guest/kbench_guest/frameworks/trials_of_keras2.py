"""Steps on trial in Keras 2: those of a model of the same layers, called anew."""

import contextlib
from typing import Any, Callable, Dict, Iterator, List, Tuple

import keras
import numpy as np

from kbench_guest.frameworks.layers import layers
from kbench_guest.frameworks.trials import DRAWN, Trial, random_states, replaced


class Keras2Trial(Trial):
    """A model of the same layers, called anew: in Keras 2 what they do at random is fixed in the model's graph."""

    def __init__(self, framework: Any, model: Any, example: Any, device: str) -> None:
        super().__init__(framework, model)
        self._of, self._example, self._device = model, example, device
        self._levels: List[Any] = []  # variables

    def notes(self) -> List[str]:
        if not of_activities(self._of):
            return []
        return ["Keras 2 sums activity regularizers over the samples of a batch, where Keras 3 takes their mean"]

    def _level(self, rank: int) -> Any:
        self._levels.append(self._framework.one_number(rank))
        return self._levels[-1]

    def restart(self, level: float) -> None:
        super().restart(level)
        shapes = [self._framework.shape_of(variable) for variable in self._levels]
        self._framework.set_values(self._levels, [np.full(shape, level, "float32") for shape in shapes])
        self._framework.restart_optimizer(self.model)

    @contextlib.contextmanager
    def steps(self, samples: int) -> Iterator[None]:
        """A context in which the model may train on batches of so many samples."""
        of = self._of
        self._keep(list(of.weights) + self._framework.rates(of.optimizer))
        super().restart(0.0)
        optimizer = self._framework.optimizer_on_trial(of)
        try:
            functions = fixed_noise(self._level, self.asked)
            with replaced(keras.backend, functions), means_of_activities(of, samples):
                inputs, outputs = called_again(of)
            self.model = keras.models.Model(inputs, outputs)
            options = self._framework.compile_options(self._device)
            if getattr(self._example, "LOSS_WEIGHTS", None):
                options["loss_weights"] = self._example.LOSS_WEIGHTS
            # With its metrics: a framework may order a step otherwise for them.
            options["metrics"] = self._framework.metrics_of(of)
            self.model.compile(loss=self._example.LOSS, optimizer=optimizer, **options)
            with random_states():
                self.model._make_train_function()
                self._keep(self._framework.optimizer_variables(optimizer))
                yield
        finally:
            super().restart(0.0)
            self._framework.end_trial(of)
            self.model = of  # the other one, with all that is compiled for it, is made anew for further steps


def of_activities(model: Any) -> List[Any]:
    """Its layers with an activity regularizer."""
    return [layer for layer, _ in layers(model) if getattr(layer, "activity_regularizer", None) is not None]


@contextlib.contextmanager
def means_of_activities(model: Any, samples: int) -> Iterator[None]:
    """A context in which activity regularizers are means over the samples, as in Keras 3; Keras 2 sums them."""
    regularized = [(layer, layer.activity_regularizer) for layer in of_activities(model)]
    for layer, regularizer in regularized:
        layer.activity_regularizer = lambda x, sum_of=regularizer: sum_of(x) * (1.0 / samples)
    try:
        yield
    finally:
        for layer, regularizer in regularized:
            layer.activity_regularizer = regularizer


def called_again(model: Any) -> Tuple[Any, Any]:
    """(inputs, outputs) of the model's layers called once more, in the same order, on new inputs."""
    K = keras.backend
    inputs = [
        keras.layers.Input(batch_shape=K.int_shape(tensor), dtype=K.dtype(tensor), name=name)
        for tensor, name in zip(model.inputs, model.input_names)  # data may go by name
    ]
    if not getattr(model, "_is_graph_network", False):  # Python code
        outputs = model(inputs[0] if len(inputs) == 1 else inputs)
        return inputs, outputs
    made = {id(tensor): new for tensor, new in zip(model.inputs, inputs)}
    for depth in sorted(model._nodes_by_depth, reverse=True):
        for node in model._nodes_by_depth[depth]:
            if id(node.output_tensors[0]) in made:
                continue
            taken = [made[id(tensor)] for tensor in node.input_tensors]
            given = node.outbound_layer(taken[0] if len(taken) == 1 else taken, **(node.arguments or {}))
            given = given if isinstance(given, (list, tuple)) else [given]
            made.update((id(tensor), new) for tensor, new in zip(node.output_tensors, given))
    return inputs, [made[id(tensor)] for tensor in model.outputs]


def fixed_noise(level: Callable[..., Any], asked: List[str]) -> Dict[str, Callable[..., Any]]:
    """{a random function of the backend: its replacement}.

    level(rank): the level, as what can be multiplied with a tensor that has so many axes. asked: a list that grows
    with each call.
    """

    def rank(shape: Any) -> int:
        return len(shape) if isinstance(shape, (tuple, list)) else 1

    def dropout(x: Any, rate: Any, noise_shape: Any = None, seed: Any = None) -> Any:
        asked.append("dropout")
        return x * (1.0 - level(keras.backend.ndim(x)) * rate)

    def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
        asked.append("normal")
        return level(rank(shape)) * float(stddev) + float(mean)  # Theano takes numpy's numbers for float64

    def uniform(shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
        asked.append("uniform")
        return (level(rank(shape)) * (DRAWN[1] - DRAWN[0]) + DRAWN[0]) * (maxval - minval) + minval

    def binomial(shape: Any, p: Any = 0.0, dtype: Any = None, seed: Any = None) -> Any:
        asked.append("binomial")
        return 1.0 - level(rank(shape)) * (1.0 - p)

    return {
        "dropout": dropout,
        "random_normal": normal,
        "truncated_normal": normal,
        "random_uniform": uniform,
        "random_binomial": binomial,
    }
