"""cifar10_vgg in PyTorch, whose pictures have their channels first."""

import os

import torch
from torch import nn
from torch.nn import functional

LAYERS = [
    ("Conv2D", (3, 3, 3, 50), (50,)),
    ("Conv2D", (3, 3, 50, 50), (50,)),
    ("Conv2D", (3, 3, 50, 100), (100,)),
    ("Conv2D", (3, 3, 100, 100), (100,)),
    ("Dense", (6400, 512), (512,)),
    ("Dense", (512, 10), (10,)),
]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def build(weights, dropout, seed):
    torch.manual_seed(seed)
    rate = 1.0 if dropout else 0.0
    model = nn.Sequential(
        nn.Conv2d(3, 50, 3, padding=1), nn.ReLU(), nn.Conv2d(50, 50, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Dropout(0.25 * rate),
        nn.Conv2d(50, 100, 3, padding=1), nn.ReLU(), nn.Conv2d(100, 100, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Dropout(0.25 * rate), nn.Flatten(),
        nn.Linear(6400, 512), nn.ReLU(), nn.Dropout(0.5 * rate), nn.Linear(512, 10),
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
    if value.shape[0] == 6400:  # Keras flattens (8, 8, 100), PyTorch (100, 8, 8)
        return value.reshape(8, 8, 100, 512).transpose(3, 2, 0, 1).reshape(512, 6400)
    return value.T


def _to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[-1] == 6400:
        return value.reshape(512, 100, 8, 8).transpose(2, 3, 1, 0).reshape(6400, 512)
    return value.T
