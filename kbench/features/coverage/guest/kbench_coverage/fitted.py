"""What `fit` says of losses and metrics with weights of samples, also behind a mask, and of losses with class weights
on top of that: it learns nothing, so a backend that does not train says the same by `evaluate`.
"""

from typing import TYPE_CHECKING, Any, Callable, Dict

import numpy as np

from kbench_coverage import masks
from kbench_coverage.training import Arrays, Subject

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels

OF_CLASSES = {0: 0.37, 1: 2.9, 2: 0.71, 3: 1.3, 4: 0.19}  # as in the host's programs


class Fitted(Subject):
    """A model that gives its inputs back: its loss, or its metric."""

    def __init__(self, framework: "KerasModels", make: Callable[[], Any], case: Dict[str, Any], trains: bool) -> None:
        self._framework, self._make, self._masked, self._trains = framework, make, case["masked"], trains
        self._is_loss = case["name"].startswith("losses.")

    def __call__(self, values: Arrays) -> Arrays:
        y, x, weights = values
        if self._masked or not self._is_loss:
            return [self._said(x, y, sample_weight=weights)]
        return [self._said(x, y, sample_weight=weights), self._said(x, y, class_weight=OF_CLASSES)]

    def _said(self, x: Any, y: Any, **weights: Any) -> np.ndarray:
        import keras

        inputs = keras.layers.Input(x.shape[1:], dtype=str(x.dtype))
        dense = keras.layers.Dense(x.shape[-1], use_bias=False)
        model = keras.models.Model(inputs, dense(masks.classes()["Large"]()(inputs) if self._masked else inputs))
        self._framework.set_values(dense.weights, [np.eye(x.shape[-1], dtype=x.dtype)])
        loss, metrics = (self._make(), []) if self._is_loss else ("mse", [self._make()])
        model.compile(loss=loss, optimizer=keras.optimizers.SGD(0.0), weighted_metrics=metrics)
        how: Dict[str, Any] = dict(weights, batch_size=max(1, len(x) - 1), verbose=0)
        if self._trains:
            history = model.fit(x, y, shuffle=False, **how).history
            return self._own({name: of[-1] for name, of in history.items()})
        if "class_weight" in how:
            of_class = how.pop("class_weight")
            labels = y.argmax(-1) if y.ndim > 1 else y
            how["sample_weight"] = np.array([of_class[int(one)] for one in labels], x.dtype)
        return self._own(model.evaluate(x, y, return_dict=True, **how))

    def _own(self, logs: Dict[str, Any]) -> np.ndarray:
        (found,) = (value for name, value in logs.items() if (name == "loss") == self._is_loss)
        return np.asarray(found, "float64")
