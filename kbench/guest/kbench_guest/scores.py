"""Loss and accuracy from a model's predictions, computed in the same way for every backend.

Keras 2's evaluate cannot do this: on one backend it leaves out a batch, and a graph with a fixed batch size cannot
take a last, partial one.
"""

from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

EPSILON = 1e-7  # Keras clips probabilities to [epsilon, 1 - epsilon] before it takes the logarithm


def categorical_crossentropy(predicted: np.ndarray, labels: np.ndarray) -> float:
    """Mean cross-entropy; predicted: (n, classes) probabilities, labels: (n,) class numbers; both may have steps."""
    chosen = np.take_along_axis(predicted, np.asarray(labels)[..., None], axis=-1)
    return float(-np.mean(np.log(np.clip(chosen.astype("float64"), EPSILON, 1 - EPSILON))))


def binary_crossentropy(predicted: np.ndarray, labels: np.ndarray) -> float:
    """Mean cross-entropy of one probability per sample or step; predicted: (n, 1) or (n, steps, 1), labels: zeros
    and ones in that shape, or without the last axis."""
    labels = np.reshape(labels, predicted.shape)
    p = np.clip(predicted.astype("float64"), EPSILON, 1 - EPSILON)
    return float(-np.mean(labels * np.log(p) + (1 - labels) * np.log(1 - p)))


def accuracy(predicted: np.ndarray, labels: np.ndarray) -> float:
    """Fraction of samples or steps whose most probable class is the right one; labels as above."""
    classes = predicted.argmax(axis=-1) if predicted.shape[-1] > 1 else predicted[..., 0] > 0.5
    return float(np.mean(classes == np.reshape(labels, classes.shape)))


LOSSES = {
    "categorical_crossentropy": categorical_crossentropy,
    "sparse_categorical_crossentropy": categorical_crossentropy,
    "binary_crossentropy": binary_crossentropy,
}

# Short names of metrics and Keras's long ones: a generation reports either.
LONG = {
    "acc": "accuracy",
    "mae": "mean_absolute_error",
    "mse": "mean_squared_error",
    "mape": "mean_absolute_percentage_error",
    "msle": "mean_squared_logarithmic_error",
}
ACCURACY = ("accuracy", "acc", "categorical_accuracy")


def training_scores(logs: Dict[str, Any]) -> Tuple[float, Optional[float]]:
    """(loss, accuracy) out of the logs of an epoch; accuracy is None if it is not measured."""
    accuracy = [logs[name] for name in ACCURACY if name in logs]
    return float(logs["loss"]), float(accuracy[0]) if accuracy else None


def others(logs: Dict[str, Any], example: Any) -> Dict[str, float]:
    """Metrics other than loss and accuracy, by the example's own names: {"mae": 2.1}."""
    words = _words(getattr(example, "METRICS", ()))
    return {_named(name, words): float(logs[name]) for name in logs if name not in ("loss",) + ACCURACY}


def of_validation(result: Dict[str, Any], metrics: Dict[str, Any]) -> Dict[str, Any]:
    """{"val_loss": ...} and the like, as callbacks expect them."""
    found = {name: result[name] for name in ("val_loss", "val_accuracy") if result.get(name) is not None}
    return dict(found, **{name: value for name, value in metrics.items() if name.startswith("val_")})


def _words(metrics: Any) -> List[str]:
    """The names of metrics in METRICS, which may be a list or, for several outputs, a dict or a list of such."""
    if isinstance(metrics, str):
        return [metrics]
    if isinstance(metrics, dict):
        metrics = metrics.values()
    return [word for one in metrics for word in _words(one)] if hasattr(metrics, "__iter__") else []


def _named(name: str, words: Sequence[str]) -> str:
    """A backend's name of a metric, such as `age_mean_absolute_error`, in the example's own words: `age_mae`."""
    for word in words:
        for other in (word, LONG.get(word), *[short for short in LONG if LONG[short] == word]):
            if other and (name == other or name.endswith("_" + other)):
                return name[: -len(other)] + word
    return name
