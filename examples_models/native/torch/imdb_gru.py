"""imdb_gru in PyTorch, whose own GRU resets after the product: this one resets before it."""

import torch
from torch import nn
from torch.nn import functional

LAYERS = [("Embedding", (30000, 125)), ("GRU", (125, 300), (100, 300), (300,)), ("Dense", (100, 2), (2,))]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Net(nn.Module):
    def __init__(self, weights):
        super().__init__()
        vectors, kernel, recurrent, bias, dense, dense_bias = map(torch.from_numpy, weights)
        self.embedding = nn.Embedding.from_pretrained(vectors, freeze=False)
        self.kernel, self.recurrent, self.bias = map(nn.Parameter, (kernel, recurrent, bias))  # update, reset, new
        self.dense = nn.Linear(100, 2)
        with torch.no_grad():
            self.dense.weight.copy_(dense.T)
            self.dense.bias.copy_(dense_bias)

    def forward(self, x):
        inputs = self.embedding(x) @ self.kernel + self.bias
        state = inputs.new_zeros(len(x), 100)
        of_gates, of_new = self.recurrent[:, :200], self.recurrent[:, 200:]
        for given in inputs.unbind(1):
            update, reset = torch.sigmoid(given[:, :200] + state @ of_gates).chunk(2, dim=1)
            new = torch.tanh(given[:, 200:] + (reset * state) @ of_new)
            state = update * state + (1.0 - update) * new
        return self.dense(state)


class Adam(torch.optim.Optimizer):
    """With Keras's formula: PyTorch's own has epsilon beside the corrected root."""

    def __init__(self, params, **settings):
        super().__init__(params, settings)
        self.steps = 0

    @torch.no_grad()
    def step(self):
        self.steps += 1
        (group,) = self.param_groups
        beta_1, beta_2 = group["beta_1"], group["beta_2"]
        rate = group["learning_rate"] * (1.0 - beta_2**self.steps) ** 0.5 / (1.0 - beta_1**self.steps)
        for param in group["params"]:
            held = self.state[param] or {"mean": torch.zeros_like(param), "square": torch.zeros_like(param)}
            self.state[param] = held
            held["mean"].lerp_(param.grad, 1.0 - beta_1)
            held["square"].mul_(beta_2).addcmul_(param.grad, param.grad, value=1.0 - beta_2)
            param.addcdiv_(held["mean"], held["square"].sqrt().add_(group["epsilon"]), value=-rate)


def build(weights, dropout, seed):
    return Net(weights).to(DEVICE)


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    return Adam(model.parameters(), learning_rate=learning_rate, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon)


def step(model, optimizer, x, y):
    x, y = torch.from_numpy(x).long().to(DEVICE), torch.from_numpy(y).long().to(DEVICE)
    optimizer.zero_grad()
    logits = model(x)
    loss = functional.cross_entropy(logits, y)
    loss.backward()
    optimizer.step()
    return loss.detach(), (logits.argmax(1) == y).float().mean()


@torch.no_grad()
def predict(model, x):
    return functional.softmax(model(torch.from_numpy(x).long().to(DEVICE)), dim=1).cpu().numpy()


def weights(model):
    held = (model.embedding.weight, model.kernel, model.recurrent, model.bias, model.dense.weight.T, model.dense.bias)
    return [value.detach().cpu().numpy() for value in held]
