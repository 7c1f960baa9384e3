"""A layer within others, which have to give what it gives alone."""

import inspect
from typing import TYPE_CHECKING, Any, Callable, Dict

import numpy as np

from kbench_coverage import masks
from kbench_coverage.of_frameworks import constant, evaluated
from kbench_guest import arrays

if TYPE_CHECKING:
    from kbench_coverage.probes import Forward
    from kbench_coverage.training import Arrays
    from kbench_guest.frameworks.keras_models import KerasModels

BACKWARDS = (slice(None), slice(None, None, -1))


class Within:
    """A layer that gave these outputs, in what may hold it."""

    def __init__(self, framework: "KerasModels", subject: "Forward", given: "Arrays", outputs: "Arrays") -> None:
        self._framework, self._subject, self._given, self._outputs = framework, subject, given, outputs

    def ways(self) -> Dict[str, Callable[[], "Arrays"]]:
        """What computes the same outputs, once or twice, by the class around the layer."""
        layer, is_alone = self._subject.layer, len(self._given) == 1
        if self._subject.is_cell:
            return {} if is_alone else {"RNN": self._in_rnn}
        training = inspect.signature(layer.call).parameters.get("training")
        if not is_alone or (training and training.default is True):  # a layer of images, which trains alone only
            return {}
        if self._subject.is_masked or len(self._outputs) > 1:
            return {"Sequential": self._in_sequential}
        found = {"Sequential": self._in_sequential, "TimeDistributed": self._in_time}
        if not getattr(layer, "go_backwards", True):
            found["Bidirectional"] = self._both_ways
        return found

    def _called(self, outer: Any, *values: np.ndarray, **how: Any) -> "Arrays":
        found = outer(*(constant(self._framework, one) for one in values), **how)
        return [evaluated(self._framework, one) for one in arrays.leaves(found)]

    def _in_rnn(self) -> "Arrays":
        import keras

        states = [constant(self._framework, one) for one in self._given[1:]]
        outer = keras.layers.RNN(self._subject.layer, return_state=True)
        return self._called(outer, self._given[0][:, None], initial_state=states)

    def _in_sequential(self) -> "Arrays":
        import keras

        layer, (x,) = self._subject.layer, self._given
        if not self._subject.is_masked:
            return self._called(keras.Sequential([layer]), x)
        large, mask = (masks.classes()[name] for name in ("Large", "Mask"))
        found = self._called(keras.Sequential([large(), layer]), x)
        if len(found) > 1:
            return found + self._outputs[len(found) :]
        return found + self._called(keras.Sequential([large(), layer, mask()]), x)

    def _in_time(self) -> "Arrays":
        """Of two steps, the second with the samples in another order."""
        import keras

        (x,) = self._given
        (found,) = self._called(keras.layers.TimeDistributed(self._subject.layer), np.stack([x, x[::-1]], 1))
        return [found[:, 0], found[::-1, 1]]

    def _both_ways(self) -> "Arrays":
        """Forwards, and backwards on steps in another order."""
        import keras

        layer, (x,) = self._subject.layer, self._given
        outer = keras.layers.Bidirectional(layer, merge_mode=None)
        self._called(outer, x)
        for twin in (outer.forward_layer, outer.backward_layer):
            self._framework.set_values(twin.weights, self._framework.values(layer.weights))
        found, backwards = self._called(outer, x)[0], self._called(outer, x[BACKWARDS])[1]
        return [found, backwards[BACKWARDS] if layer.return_sequences else backwards]
