"""mnist_cnn in PyTorch, whose pictures have their channels first."""

import os

import torch
from torch import nn
from torch.nn import functional

LAYERS = [
    ("Conv2D", (3, 3, 1, 32), (32,)),
    ("Conv2D", (3, 3, 32, 64), (64,)),
    ("Dense", (9216, 128), (128,)),
    ("Dense", (128, 10), (10,)),
]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def build(weights, dropout, seed):
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Dropout(0.25 if dropout else 0.0), nn.Flatten(),
        nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5 if dropout else 0.0),
        nn.Linear(128, 10),
    )  # fmt: skip
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), weights):
            parameter.copy_(torch.from_numpy(_from_keras(value)))
    model = model.to(DEVICE)
    return torch.compile(model) if os.environ.get("TORCH_COMPILE") else model


def optimizer(model, learning_rate, rho, epsilon):
    return torch.optim.Adadelta(model.parameters(), lr=learning_rate, rho=rho, eps=epsilon)


def step(model, optimizer, x, y):
    x, y = torch.from_numpy(x).to(DEVICE), torch.from_numpy(y).long().to(DEVICE)
    model.train()
    optimizer.zero_grad()
    logits = model(x)
    loss = functional.cross_entropy(logits, y)
    loss.backward()
    optimizer.step()
    return loss.detach(), (logits.argmax(1) == y).float().mean()


@torch.no_grad()
def predict(model, x):
    model.eval()
    return functional.softmax(model(torch.from_numpy(x).to(DEVICE)), dim=1).cpu().numpy()


def weights(model):
    return [_to_keras(parameter.detach().cpu().numpy()) for parameter in model.parameters()]


def _from_keras(value):
    if value.ndim == 4:  # (rows, columns, inputs, filters)
        return value.transpose(3, 2, 0, 1)
    if value.shape[0] == 9216:  # Keras flattens (12, 12, 64), PyTorch (64, 12, 12)
        return value.reshape(12, 12, 64, 128).transpose(3, 2, 0, 1).reshape(128, 9216)
    return value.T


def _to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[-1] == 9216:
        return value.reshape(128, 64, 12, 12).transpose(2, 3, 1, 0).reshape(9216, 128)
    return value.T
