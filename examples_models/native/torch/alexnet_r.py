"""alexnet_r in PyTorch, whose pictures have their channels first."""

import os

import torch
from torch import nn
from torch.nn import functional

LAYERS = [
    ("Conv2D", (5, 5, 3, 32), (32,)),
    ("Conv2D", (5, 5, 32, 32), (32,)),
    ("Conv2D", (5, 5, 32, 64), (64,)),
    ("Dense", (576, 10), (10,)),
]
NORMAL = ("RandomNormal", {"stddev": 0.01})
INITIALIZERS = {"Conv2D": (NORMAL, "Zeros"), "Dense": (NORMAL, "Zeros")}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def build(weights, dropout, seed):
    model = nn.Sequential(
        nn.Conv2d(3, 32, 5, padding=2), nn.MaxPool2d(3, 2), nn.ReLU(),
        nn.Conv2d(32, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.AvgPool2d(3, 2),
        nn.Flatten(), nn.Linear(576, 10),
    )  # fmt: skip
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), weights):
            parameter.copy_(torch.from_numpy(_from_keras(value)))
    model = model.to(DEVICE)
    return torch.compile(model) if os.environ.get("TORCH_COMPILE") else model


def optimizer(model, learning_rate, momentum, nesterov):
    return torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=momentum, nesterov=nesterov)


def step(model, optimizer, x, y):
    x, y = torch.from_numpy(x).to(DEVICE), torch.from_numpy(y).long().to(DEVICE)
    optimizer.zero_grad()
    logits = model(x)
    loss = functional.cross_entropy(logits, y)
    loss.backward()
    optimizer.step()
    return loss.detach(), (logits.argmax(1) == y).float().mean()


@torch.no_grad()
def predict(model, x):
    return functional.softmax(model(torch.from_numpy(x).to(DEVICE)), dim=1).cpu().numpy()


def weights(model):
    return [_to_keras(parameter.detach().cpu().numpy()) for parameter in model.parameters()]


def _from_keras(value):
    if value.ndim == 4:  # (rows, columns, inputs, filters)
        return value.transpose(3, 2, 0, 1)
    if value.shape[0] == 576:  # Keras flattens (3, 3, 64), PyTorch (64, 3, 3)
        return value.reshape(3, 3, 64, 10).transpose(3, 2, 0, 1).reshape(10, 576)
    return value.T


def _to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[-1] == 576:
        return value.reshape(10, 64, 3, 3).transpose(2, 3, 1, 0).reshape(576, 10)
    return value.T
