"""mnist_mlp in tinygrad."""

from tinygrad import Tensor, TinyJit, nn

LAYERS = [("Dense", (784, 512), (512,)), ("Dense", (512, 512), (512,)), ("Dense", (512, 10), (10,))]


class Network:
    def __init__(self, weights, dropout):
        kernels, biases = weights[::2], weights[1::2]
        self.layers = [nn.Linear(len(kernel), len(bias)) for kernel, bias in zip(kernels, biases)]
        for layer, kernel, bias in zip(self.layers, kernels, biases):
            layer.weight, layer.bias = Tensor(kernel.T.copy()), Tensor(bias)
        self.rate = 0.2 if dropout else 0.0

    def __call__(self, x):
        *hidden, last = self.layers
        for layer in hidden:
            x = layer(x).relu().dropout(self.rate)
        return last(x)


def build(weights, dropout, seed):
    Tensor.manual_seed(seed)
    return Network(weights, dropout)


def optimizer(model, learning_rate, rho, epsilon):
    parameters = nn.state.get_parameters(model)
    squares = [Tensor.zeros(*parameter.shape).contiguous().realize() for parameter in parameters]

    @TinyJit
    @Tensor.train()
    def train(x, y):
        logits = model(x)
        loss, accuracy = logits.sparse_categorical_crossentropy(y), (logits.argmax(1) == y).mean()
        for parameter, square, gradient in zip(parameters, squares, loss.gradient(*parameters)):
            square.assign(rho * square + (1 - rho) * gradient**2)
            parameter.assign(parameter - learning_rate * gradient / (square.sqrt() + epsilon))
        Tensor.realize(loss, accuracy, *parameters, *squares)
        return loss, accuracy

    return train


def step(model, train, x, y):
    loss, accuracy = train(Tensor(x), Tensor(y))
    return loss.item(), accuracy.item()


def predict(model, x):
    return model(Tensor(x)).softmax().numpy()


def weights(model):
    return [value for layer in model.layers for value in (layer.weight.numpy().T, layer.bias.numpy())]
