"""A Sequential whose last layer learns: a softmax regression by gradient descent."""

from types import SimpleNamespace

import numpy as np


class Model:
    """What every model is, as in Keras."""


class Sequential(Model):
    def __init__(self):
        self.layers = []

    def add(self, layer):
        self._shape = layer.build(layer.input_shape if not self.layers else self._shape)
        self.layers.append(layer)

    @property
    def weights(self):
        return [weight for layer in self.layers for weight in layer.weights]

    def count_params(self):
        return sum(weight.value.size for weight in self.weights)

    def get_config(self):
        return [{"class_name": type(layer).__name__, "config": layer.get_config()} for layer in self.layers]

    def compile(self, loss, optimizer, metrics):
        assert loss == "categorical_crossentropy"
        self.optimizer = optimizer

    def predict(self, x, batch_size, verbose=0):
        for layer in self.layers:
            x = layer.call(x)
        return x

    def fit(self, x, y, batch_size, epochs, initial_epoch, shuffle, verbose, callbacks):
        assert not shuffle
        for callback in callbacks:
            callback.set_model(self)
        history = {"loss": [], "acc": []}
        for epoch in range(initial_epoch, epochs):
            for callback in callbacks:
                callback.on_epoch_begin(epoch)
            losses, hits = [], []
            for batch, start in enumerate(range(0, len(x), batch_size)):
                loss, accuracy = self._step(x[start : start + batch_size], y[start : start + batch_size])
                losses.append(loss)
                hits.append(accuracy)
                for callback in callbacks:
                    callback.on_batch_end(batch)
            history["loss"].append(np.mean(losses))
            history["acc"].append(np.mean(hits))
            for callback in callbacks:
                callback.on_epoch_end(epoch)
        return SimpleNamespace(history=history)

    def _step(self, x, y):
        *before, last = self.layers
        for layer in before:
            x = layer.call(x)
        predicted = last.call(x)
        gradient = (predicted - y) / len(x)
        last.kernel.value -= self.optimizer.lr * (x.T @ gradient)
        last.bias.value -= self.optimizer.lr * gradient.sum(axis=0)
        return -np.log(predicted[y == 1]).mean(), (predicted.argmax(axis=1) == y.argmax(axis=1)).mean()
