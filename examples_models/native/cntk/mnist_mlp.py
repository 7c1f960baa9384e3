"""mnist_mlp in CNTK."""

import cntk as C
import numpy as np

LAYERS = [("Dense", (784, 512), (512,)), ("Dense", (512, 512), (512,)), ("Dense", (512, 10), (10,))]


class MLP:
    def __init__(self, weights, rate, seed):
        self.params = [C.Parameter(init=value) for value in weights]
        w1, b1, w2, b2, w3, b3 = self.params
        self.x, self.y = C.input_variable(784), C.input_variable(10)
        x = C.dropout(C.relu(C.times(self.x, w1) + b1), rate, seed=seed)
        x = C.dropout(C.relu(C.times(x, w2) + b2), rate, seed=seed + 1)
        self.logits = C.times(x, w3) + b3
        self.probabilities = C.softmax(self.logits)


def build(weights, dropout, seed):
    return MLP(weights, 0.2 if dropout else 0.0, seed)


def optimizer(model, learning_rate, rho, epsilon):
    """RMSprop as a learner of our own: CNTK's is another algorithm."""
    samples = C.constant(1.0)  # of a batch: gradients come as sums over it

    def updates(params, gradients):
        made = []
        for param, gradient in zip(params, gradients):
            gradient = gradient / samples
            square = C.constant(0, shape=param.shape)
            square = C.assign(square, rho * square + (1.0 - rho) * gradient * gradient)
            made.append(C.assign(param, param - learning_rate * gradient / (C.sqrt(square) + epsilon)))
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
    return [param.value for param in model.params]
