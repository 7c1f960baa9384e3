"""mnist_cnn in CNTK, whose pictures have their channels first."""

import cntk as C
import numpy as np

LAYERS = [
    ("Conv2D", (3, 3, 1, 32), (32,)),
    ("Conv2D", (3, 3, 32, 64), (64,)),
    ("Dense", (9216, 128), (128,)),
    ("Dense", (128, 10), (10,)),
]


class CNN:
    def __init__(self, weights, rates, seed):
        self.params = [C.Parameter(init=value) for value in map(from_keras, weights)]
        k1, b1, k2, b2, w3, b3, w4, b4 = self.params
        self.x, self.y = C.input_variable((1, 28, 28)), C.input_variable(10)
        x = C.relu(C.convolution(k1, self.x, auto_padding=[False]) + C.reshape(b1, (32, 1, 1)))
        x = C.relu(C.convolution(k2, x, auto_padding=[False]) + C.reshape(b2, (64, 1, 1)))
        x = C.dropout(C.pooling(x, C.MAX_POOLING, (2, 2), (2, 2)), rates[0], seed=seed)
        x = C.relu(C.times(C.reshape(x, 9216), w3) + b3)
        self.logits = C.times(C.dropout(x, rates[1], seed=seed + 1), w4) + b4
        self.probabilities = C.softmax(self.logits)


def build(weights, dropout, seed):
    return CNN(weights, (0.25, 0.5) if dropout else (0.0, 0.0), seed)


def optimizer(model, learning_rate, rho, epsilon):
    """Adadelta as a learner of our own, with Keras's formula."""
    samples = C.constant(1.0)  # of a batch: gradients come as sums over it

    def updates(params, gradients):
        made = []
        for param, gradient in zip(params, gradients):
            gradient = gradient / samples
            square, update = C.constant(0, shape=param.shape), C.constant(0, shape=param.shape)
            squared = C.assign(square, rho * square + (1.0 - rho) * gradient * gradient)
            delta = gradient * C.sqrt(update + epsilon) / C.sqrt(squared + epsilon)
            made.append(C.assign(param, param - learning_rate * delta))
            made.append(C.assign(update, rho * update + (1.0 - rho) * delta * delta))
        return C.combine(made)

    loss = C.cross_entropy_with_softmax(model.logits, model.y)
    wrong = C.classification_error(model.logits, model.y)
    learner = C.universal(updates, model.logits.parameters)
    return {"trainer": C.Trainer(model.logits, (loss, wrong), [learner]), "samples": samples}


def step(model, optimizer, x, y):
    trainer, samples = optimizer["trainer"], optimizer["samples"]
    if samples.value != len(x):
        samples.value = np.array(len(x), dtype="float32")
    trainer.train_minibatch({model.x: x, model.y: np.eye(10, dtype="float32")[y]})
    return trainer.previous_minibatch_loss_average, 1.0 - trainer.previous_minibatch_evaluation_average


def predict(model, x):
    return model.probabilities.eval({model.x: x})


def weights(model):
    return [to_keras(param.value) for param in model.params]


def from_keras(value):
    if value.ndim == 4:  # (rows, columns, inputs, filters)
        return np.ascontiguousarray(value.transpose(3, 2, 0, 1))
    if value.shape[0] == 9216:  # Keras flattens (12, 12, 64), CNTK (64, 12, 12)
        return value.reshape(12, 12, 64, 128).transpose(2, 0, 1, 3).reshape(9216, 128)
    return value


def to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[0] == 9216:
        return value.reshape(64, 12, 12, 128).transpose(1, 2, 0, 3).reshape(9216, 128)
    return value
