"""Keras 2, whatever runs below it; what a framework does in its own way is in a file for it, `keras2_NAME.py`."""

from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import keras
import numpy as np
from keras import backend as K

from kbench_guest.frameworks import keras_models
from kbench_guest.frameworks.trials_of_keras2 import Keras2Trial
from kbench_guest.protocol import Refused

CONVOLUTIONS = ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose", "ConvLSTM2DCell", "ConvLSTM2D")
KERNELS = ("kernel", "recurrent_kernel")


class Keras2(keras_models.KerasModels):
    function_maker = "_make_"

    def seed(self, number: int) -> None:
        np.random.seed(number)  # Keras 2 seeds its dropout layers from numpy
        self.seed_backend(number)

    def seed_backend(self, number: int) -> None:
        pass

    def make_optimizer(self, class_name: str, rate: Any, decay: float, settings: Dict[str, Any]) -> Any:
        settings = dict(settings)
        if "clipnorm" in settings:
            raise Refused("unsupported", "Keras 2 cannot clip each gradient's norm alone; global_clipnorm clips all")
        if "global_clipnorm" in settings:  # Keras 2's own clipnorm
            settings["clipnorm"] = settings.pop("global_clipnorm")
        return getattr(keras.optimizers, class_name)(lr=rate, decay=decay, **settings)

    def initial_learning_rate(self, config: Dict[str, Any]) -> Tuple[Any, Any]:
        if "clipnorm" in config:
            config["global_clipnorm"] = config.pop("clipnorm")
        return config.pop("lr", None), config.get("decay", 0.0)

    def trial(self, model: Any, example: Any, device: str) -> Keras2Trial:
        return Keras2Trial(self, model, example, device)

    def one_number(self, rank: int) -> Any:
        """A variable of one number, for products with tensors that have so many axes."""
        return K.variable(0.0)

    def optimizer_on_trial(self, model: Any) -> Any:
        """The model's optimizer, which makes slots of its own for each training function."""
        return model.optimizer

    def rates(self, optimizer: Any) -> List[Any]:
        """The variables that callbacks set."""
        rate = getattr(optimizer, "lr", 0.0)
        return [] if isinstance(rate, float) else [rate]

    def optimizer_variables(self, optimizer: Any) -> List[Any]:
        """All variables that a step changes besides the weights."""
        return [optimizer.iterations] + list(optimizer.weights)

    def restart_optimizer(self, tried: Any) -> None:
        """Called before each step: put back what is in no variable."""

    def end_trial(self, model: Any) -> None:
        """Called when another model with its weights has trained for the last time."""

    def build_by_calling(self, model: Any, inputs: Any) -> None:
        model._set_inputs(inputs)

    def data_of_step(self, model: Any, args: Tuple[Any, ...]) -> Optional[Tuple[Any, Any, Any]]:
        given = [one for one in args[0] if hasattr(one, "shape")]  # not the learning phase
        inputs = len(getattr(model, "_feed_inputs", None) or given[:1])
        targets = inputs + len(getattr(model, "_feed_targets", None) or given[1:2])
        return given[:inputs], given[inputs:targets], given[targets:]

    def validation_hook(self, model: Any, wrap: Callable[..., Any]) -> None:
        for kind in ("test", "predict"):
            self.step_hook(model, kind, wrap)

    def fit(self, model: Any, generator: Any = None, **given: Any) -> Any:
        # fit_generator makes batches ahead in one thread, which keeps their order.
        return model.fit(**given) if generator is None else model.fit_generator(generator, **given)

    def shape_of(self, weight: Any) -> Tuple[Any, ...]:
        return K.int_shape(weight)

    def dtype_of(self, weight: Any) -> str:
        return str(K.dtype(weight))

    def set_values(self, weights: Any, values: Any) -> None:
        # In TensorFlow 1 one call for all is a hundred times quicker.
        K.batch_set_value(list(zip(weights, values)))

    def values(self, weights: Sequence[Any]) -> List[Any]:
        return [np.array(value) for value in K.batch_get_value(list(weights))]


def is_kernel(owner: Any, name: Optional[str]) -> bool:
    return owner.__class__.__name__ in CONVOLUTIONS and name in KERNELS


INTERFACE = Keras2  # what serves a backend without a file of its own
