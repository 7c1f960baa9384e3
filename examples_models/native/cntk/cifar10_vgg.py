"""cifar10_vgg in CNTK, whose pictures have their channels first."""

import cntk as C
import numpy as np

LAYERS = [
    ("Conv2D", (3, 3, 3, 50), (50,)),
    ("Conv2D", (3, 3, 50, 50), (50,)),
    ("Conv2D", (3, 3, 50, 100), (100,)),
    ("Conv2D", (3, 3, 100, 100), (100,)),
    ("Dense", (6400, 512), (512,)),
    ("Dense", (512, 10), (10,)),
]


class CNN:
    def __init__(self, weights, rates, seed):
        self.params = [C.Parameter(init=value) for value in map(from_keras, weights)]
        k1, b1, k2, b2, k3, b3, k4, b4, w5, b5, w6, b6 = self.params
        self.x, self.y = C.input_variable((3, 32, 32)), C.input_variable(10)
        x = convolution(convolution(self.x, k1, b1), k2, b2)
        x = C.dropout(C.pooling(x, C.MAX_POOLING, (2, 2), (2, 2)), rates[0], seed=seed)
        x = convolution(convolution(x, k3, b3), k4, b4)
        x = C.dropout(C.pooling(x, C.MAX_POOLING, (2, 2), (2, 2)), rates[0], seed=seed + 1)
        x = C.relu(C.times(C.reshape(x, 6400), w5) + b5)
        self.logits = C.times(C.dropout(x, rates[1], seed=seed + 2), w6) + b6
        self.probabilities = C.softmax(self.logits)


def convolution(x, kernel, bias):
    x = C.convolution(kernel, x, auto_padding=[False, True, True])
    return C.relu(x + C.reshape(bias, (bias.shape[0], 1, 1)))


def build(weights, dropout, seed):
    return CNN(weights, (0.25, 0.5) if dropout else (0.0, 0.0), seed)


def optimizer(model, learning_rate, momentum, nesterov):
    kind = C.nesterov if nesterov else C.momentum_sgd
    # Unit gain would multiply the rate by 1 - momentum; ignoring the size of a batch, gradients are means over it.
    schedules = C.learning_parameter_schedule(learning_rate), C.momentum_schedule(momentum)
    settings = {"unit_gain": False, "minibatch_size": C.learners.IGNORE}
    loss = C.cross_entropy_with_softmax(model.logits, model.y)
    wrong = C.classification_error(model.logits, model.y)
    return C.Trainer(model.logits, (loss, wrong), [kind(model.logits.parameters, *schedules, **settings)])


def step(model, trainer, x, y):
    trainer.train_minibatch({model.x: x, model.y: np.eye(10, dtype="float32")[y]})
    return trainer.previous_minibatch_loss_average, 1.0 - trainer.previous_minibatch_evaluation_average


def predict(model, x):
    return model.probabilities.eval({model.x: x})


def weights(model):
    return [to_keras(param.value) for param in model.params]


def from_keras(value):
    if value.ndim == 4:  # (rows, columns, inputs, filters)
        return np.ascontiguousarray(value.transpose(3, 2, 0, 1))
    if value.shape[0] == 6400:  # Keras flattens (8, 8, 100), CNTK (100, 8, 8)
        return value.reshape(8, 8, 100, 512).transpose(2, 0, 1, 3).reshape(6400, 512)
    return value


def to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[0] == 6400:
        return value.reshape(100, 8, 8, 512).transpose(1, 2, 0, 3).reshape(6400, 512)
    return value
