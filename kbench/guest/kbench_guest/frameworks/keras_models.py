"""What both generations of Keras share: a model's layers and weights, its optimizer, the functions that it calls."""

import importlib
import json
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

import keras
import numpy as np

from kbench_guest import scores
from kbench_guest.frameworks import layer_settings, recurrent
from kbench_guest.frameworks.interface import Framework
from kbench_guest.frameworks.layers import find, layers, owners
from kbench_guest.frameworks.optimizers import Optimizers
from kbench_guest.protocol import Refused

if TYPE_CHECKING:
    from kbench_guest.clock import EpochClock


class KerasModels(Optimizers, Framework):
    """Models of Keras; subclasses override what differs in a generation, or in the framework below it."""

    function_maker = ""  # what the model's methods that make its compiled functions begin with

    def __init__(self) -> None:
        try:
            self.module = importlib.import_module(keras.backend.backend())  # of the framework below Keras
        except ImportError:  # a backend whose name is not its framework's
            self.module = None

    def versions(self) -> Tuple[str, str]:
        return keras.__version__, getattr(self.module, "__version__", "unknown")

    def is_recurrent(self, model: Any) -> bool:
        kinds = tuple(getattr(keras.layers, name) for name in recurrent.LAYERS if hasattr(keras.layers, name))
        return any(isinstance(one, kinds) for layer, _ in layers(model) for one in owners(layer))

    def describe(self, model: Any) -> List[List[Any]]:
        return [layer_settings.describe(self, layer, frozen) for layer, frozen in layers(model)]

    def weights(self, model: Any) -> List[Tuple[Any, List[Any]]]:
        return [
            (layer, [self._shared(layer, weight, value) for weight, value in zip(layer.weights, values)])
            for layer, values in self.own_weights(model)
        ]

    def own_weights(self, model: Any) -> List[Tuple[Any, List[Any]]]:
        found = [layer for layer, _ in layers(model) if layer.weights]
        values = iter(self.values([weight for layer in found for weight in layer.weights]))
        return [(layer, [next(values) for _ in layer.weights]) for layer in found]

    def _shared(self, layer: Any, weight: Any, value: Any) -> np.ndarray:
        name, _, owner = find(layer, weight)
        return np.asarray(self.to_shared(owner, name, value), dtype="float32")

    def step_hook(self, model: Any, kind: str, wrap: Callable[..., Any]) -> None:
        """Wraps the method that makes the function, if there is one. Keras calls it at the start of every fit; most
        backends make the function once, keras-mxnet every time."""
        name = kind + "_function"
        maker = self.function_maker + name
        make = getattr(model, maker, None)
        if make is None:
            return
        wrapped: List[Any] = []

        def make_and_wrap(*args: Any, **kwargs: Any) -> Any:
            make(*args, **kwargs)
            function = getattr(model, name, None)
            if callable(function) and not any(function is one for one in wrapped):
                wrapped[:] = [wrap(function)]
                setattr(model, name, wrapped[0])
            return getattr(model, name, None)

        setattr(model, maker, make_and_wrap)

    def unseen_steps(self, kind: str) -> str:
        maker = self.function_maker + kind + "_function"
        return f"Keras {keras.__version__} did not call {maker}, so " + super().unseen_steps(kind)

    def updates(self, model: Any) -> Optional[int]:
        counted = getattr(model.optimizer, "iterations", None)
        return None if counted is None else int(self.values([counted])[0])

    def settings_of_training(self, model: Any, ordered_updates: bool) -> Dict[str, Any]:
        asked = self.metrics_of(model)
        found: Dict[str, Any] = {}
        if asked is not None:
            found["metrics"] = json.dumps(_long(layer_settings.plain(asked)), sort_keys=True)
        eager = bool(getattr(model, "run_eagerly", False))
        found.update(steps_per_execution=self.steps_of_a_call(model), run_eagerly=int(eager))
        return dict(found, order_of_updates=self.order_of_updates(ordered_updates))

    def order_of_updates(self, ordered: bool) -> str:
        """How a training step orders gradients and updates; ordered: whether kbench does that."""
        return "in order"

    def metrics_of(self, model: Any) -> Any:
        """The metrics that the model was compiled with; None if it does not say."""
        return getattr(model, "metrics", None)

    def compile(self, model: Any, example: Any, device: str, ordered_updates: bool) -> None:
        """Compile with the example's loss, optimizer and metrics.

        ordered_updates: whether gradients, updates and step counter have to be put in order, by the backend's file.
        """
        asked = example.OPTIMIZER
        if not isinstance(asked, dict) and not callable(asked):
            raise Refused("example", "OPTIMIZER is neither a dict nor a function that returns an optimizer")
        made = self.optimizer(asked) if isinstance(asked, dict) else asked()
        if ordered_updates:
            self.order_updates(made)
        classes = isinstance(example.LOSS, str) and example.LOSS in scores.LOSSES
        metrics = getattr(example, "METRICS", ["accuracy"] if classes else [])
        options = self.compile_options(device)
        if getattr(example, "LOSS_WEIGHTS", None):
            options["loss_weights"] = example.LOSS_WEIGHTS
        if getattr(example, "STEPS_PER_EXECUTION", 1) > 1:
            options.update(self.several_steps(example.STEPS_PER_EXECUTION))
        metrics = dict(metrics) if isinstance(metrics, dict) else list(metrics)
        model.compile(loss=example.LOSS, optimizer=made, metrics=metrics, **options)

    def correct_normalization(self) -> None:
        """Before a model is made: let BatchNormalization train as it states, with its epsilon and gamma."""

    def several_steps(self, number: int) -> Dict[str, Any]:
        """The argument of `compile` for this number of steps in each call of the compiled function."""
        raise Refused("unsupported", "it has no steps_per_execution")

    def build_by_calling(self, model: Any, inputs: Any) -> None:
        """Call a model of the user's own class with a batch, so that it makes its weights."""
        raise NotImplementedError

    def train_epoch(
        self, model: Any, epoch: int, given: Dict[str, Any], clock: "EpochClock", callbacks: List[Any]
    ) -> Dict[str, float]:
        timed = keras.callbacks.LambdaCallback(on_epoch_begin=clock.begin, on_epoch_end=clock.finish)
        numbers = {"epochs": epoch, "initial_epoch": epoch - 1, "verbose": 0}
        history = self.fit(model, callbacks=[timed] + callbacks, **dict(given, **numbers))
        return {name: float(values[-1]) for name, values in history.history.items()}

    def fit(self, model: Any, generator: Any = None, **given: Any) -> Any:
        """Keras's fit, or its like for a generator."""
        return model.fit(**given) if generator is None else model.fit(generator, **given)

    def evaluate(self, model: Any, x: Any, y: Any, **given: Any) -> Dict[str, float]:
        """{"loss": ..., each metric: its value}."""
        found = model.evaluate(x, y, verbose=0, **given)
        values = found if isinstance(found, (list, tuple)) else [found]
        return {name: float(value) for name, value in zip(model.metrics_names, values)}

    def compile_options(self, device: str) -> Dict[str, Any]:
        """Further arguments of `compile`."""
        return {}

    # The layout of kernels that all backends share: (rows, columns, inputs, filters), correlated with the image.


def _long(metrics: Any) -> Any:
    """Metrics by Keras's long names."""
    if isinstance(metrics, dict):
        return {name: _long(one) for name, one in metrics.items()}
    if isinstance(metrics, list):
        return [_long(one) for one in metrics]
    return scores.LONG.get(metrics, metrics) if isinstance(metrics, str) else metrics
