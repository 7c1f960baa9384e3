"""Loss and accuracy over all samples from a model's predictions, computed alike for every backend.

Keras 2's evaluate cannot be used for this: on one backend it leaves out a batch, and a graph with a fixed batch
size cannot take the last, partial one.
"""

import numpy as np

EPSILON = 1e-7  # Keras clips probabilities to [epsilon, 1 - epsilon] before it takes the logarithm


def categorical_crossentropy(predicted, labels):
    """Mean cross-entropy; predicted: (n, classes) probabilities, labels: (n,) class numbers."""
    chosen = predicted[np.arange(len(labels)), labels]
    return float(-np.mean(np.log(np.clip(chosen.astype("float64"), EPSILON, 1 - EPSILON))))


def binary_crossentropy(predicted, labels):
    """Mean cross-entropy of one probability per sample; predicted: (n, 1), labels: (n,) zeros and ones."""
    p = np.clip(predicted[:, 0].astype("float64"), EPSILON, 1 - EPSILON)
    return float(-np.mean(labels * np.log(p) + (1 - labels) * np.log(1 - p)))


def accuracy(predicted, labels):
    """Fraction of samples whose most probable class is the right one."""
    classes = predicted.argmax(axis=-1) if predicted.shape[-1] > 1 else predicted[:, 0] > 0.5
    return float(np.mean(classes == labels))


LOSSES = {
    "categorical_crossentropy": categorical_crossentropy,
    "sparse_categorical_crossentropy": categorical_crossentropy,
    "binary_crossentropy": binary_crossentropy,
}
