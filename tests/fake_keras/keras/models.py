"""A Sequential whose last layer learns: a softmax regression by gradient descent."""

import os
from types import SimpleNamespace

import numpy as np

from keras import layers


class Tensor:
    """What a chain of layers gives: its shape, and the layers to run."""

    def __init__(self, shape, layers):
        self.shape = shape
        self.layers = layers


class Model:
    """What every model is, as in Keras; made of tensors, it gives their values, or trains what made one of them."""

    def __init__(self, inputs, outputs):
        self._outputs = outputs
        self.layers = outputs.layers if isinstance(outputs, Tensor) else []

    def predict(self, x, batch_size, verbose=0):
        found = []
        for tensor in self._outputs:
            value = x
            for layer in tensor.layers:
                value = layer.call(value)
            found.append(value)
        return found[0] if len(found) == 1 else found

    def compile(self, loss, optimizer, metrics=()):
        assert loss == "categorical_crossentropy"
        self.optimizer = optimizer
        self.metrics = metrics
        self.train_function = None

    def _make_train_function(self):
        if self.train_function is None:
            self.train_function = lambda inputs: list(self._step(*inputs))

    def train_on_batch(self, x, y):
        self._make_train_function()
        return self.train_function([x, y])

    def _step(self, x, y):
        *before, last = self.layers
        for layer in before:
            x = layer.call(x)
        predicted = last.call(x)
        gradient = (predicted - y) / len(x)
        rate = self.optimizer.lr * (1 + float(os.environ.get("FAKE_KERAS_STEP_IS_OFF_BY", "0")))
        last.kernel.value -= rate * (x.T @ gradient)
        last.bias.value -= self.optimizer.lr * gradient.sum(axis=0)
        return -np.log(predicted[y == 1]).mean(), (predicted.argmax(axis=1) == y.argmax(axis=1)).mean()


class Sequential(Model):
    def __init__(self):
        self.layers = []

    def __call__(self, tensor):
        return Tensor((None, *self._shape), tensor.layers + self.layers)

    def add(self, layer):
        if not self.layers:
            self.inputs = [Tensor((None, *layer.input_shape), [])]
            self.input_names = ["input_1"]
            self._shape = layer.input_shape
        taken = Tensor((None, *self._shape), list(self.layers))
        self._shape = layer.build(self._shape)
        self.layers.append(layer)
        layer.output = Tensor((None, *self._shape), list(self.layers))
        layer._inbound_nodes = [SimpleNamespace(input_tensors=taken, output_tensors=[layer.output])]

    @property
    def weights(self):
        return [weight for layer in self.layers for weight in layer.weights]

    def get_weights(self):
        return [value for layer in self.layers for value in layer.get_weights()]

    def set_weights(self, values):
        for weight, value in zip(self.weights, values, strict=True):
            weight.value = np.array(value, dtype="float32")

    def count_params(self):
        return sum(weight.value.size for weight in self.weights)

    def get_config(self):
        return [{"class_name": type(layer).__name__, "config": layer.get_config()} for layer in self.layers]

    def _make_predict_function(self):
        if getattr(self, "predict_function", None) is None:
            self.predict_function = lambda inputs: self._forward(*inputs)

    def predict(self, x, batch_size, verbose=0):
        self._make_predict_function()
        return np.concatenate([self.predict_function([x[at]]) for at in _batches(x, batch_size)])

    def fit(self, x, y, batch_size, epochs, initial_epoch, shuffle, verbose, callbacks):
        assert not shuffle
        if "FAKE_KERAS_CALLS_NO_HOOK" in os.environ:  # as another Keras may
            train = lambda inputs: self._step(*inputs)  # noqa: E731
        else:
            self._make_train_function()
            train = self.train_function
        for callback in callbacks:
            callback.set_model(self)
        history = {"loss": [], "acc": []}
        for epoch in range(initial_epoch, epochs):
            for callback in callbacks:
                callback.on_epoch_begin(epoch)
            losses, hits = [], []
            for batch, at in enumerate(_batches(x, batch_size)):
                for callback in callbacks:
                    callback.on_batch_begin(batch)
                loss, accuracy = train([x[at], y[at]])
                losses.append(loss)
                hits.append(accuracy)
                for callback in callbacks:
                    callback.on_batch_end(batch)
            history["loss"].append(np.mean(losses))
            history["acc"].append(np.mean(hits))
            for callback in callbacks:
                callback.on_epoch_end(epoch)
        return SimpleNamespace(history=history)

    @classmethod
    def from_config(cls, config, custom_objects):
        made = cls()
        for layer in config:
            known = {**vars(layers), **custom_objects}
            made.add(known[layer["class_name"]](**layer["config"]))
        return made

    def _forward(self, x):
        for layer in self.layers:
            x = layer.call(x)
        return x


def _batches(x, batch_size):
    return [slice(start, start + batch_size) for start in range(0, len(x), batch_size)]
