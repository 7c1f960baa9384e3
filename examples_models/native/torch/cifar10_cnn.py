"""cifar10_cnn in PyTorch, whose pictures have their channels first."""

import os

import torch
from torch import nn
from torch.nn import functional

LAYERS = [
    ("Conv2D", (3, 3, 3, 32), (32,)),
    ("Conv2D", (3, 3, 32, 32), (32,)),
    ("Conv2D", (3, 3, 32, 64), (64,)),
    ("Conv2D", (3, 3, 64, 64), (64,)),
    ("Dense", (2304, 512), (512,)),
    ("Dense", (512, 10), (10,)),
]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def build(weights, dropout, seed):
    torch.manual_seed(seed)
    rate = 1.0 if dropout else 0.0
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU(),
        nn.MaxPool2d(2), nn.Dropout(0.25 * rate),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(),
        nn.MaxPool2d(2), nn.Dropout(0.25 * rate), nn.Flatten(),
        nn.Linear(2304, 512), nn.ReLU(), nn.Dropout(0.5 * rate), nn.Linear(512, 10),
    )  # fmt: skip
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), weights):
            parameter.copy_(torch.from_numpy(_from_keras(value)))
    model = model.to(DEVICE)
    return torch.compile(model) if os.environ.get("TORCH_COMPILE") else model


def optimizer(model, learning_rate, rho, epsilon, decay):
    made = torch.optim.RMSprop(model.parameters(), lr=learning_rate, alpha=rho, eps=epsilon)
    return made, torch.optim.lr_scheduler.LambdaLR(made, lambda steps: 1.0 / (1.0 + decay * steps))


def step(model, optimizers, x, y):
    optimizer, schedule = optimizers
    x, y = torch.from_numpy(x).to(DEVICE), torch.from_numpy(y).long().to(DEVICE)
    model.train()
    optimizer.zero_grad()
    logits = model(x)
    loss = functional.cross_entropy(logits, y)
    loss.backward()
    optimizer.step()
    schedule.step()
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
    if value.shape[0] == 2304:  # Keras flattens (6, 6, 64), PyTorch (64, 6, 6)
        return value.reshape(6, 6, 64, 512).transpose(3, 2, 0, 1).reshape(512, 2304)
    return value.T


def _to_keras(value):
    if value.ndim == 4:
        return value.transpose(2, 3, 1, 0)
    if value.shape[-1] == 2304:
        return value.reshape(512, 64, 6, 6).transpose(2, 3, 1, 0).reshape(2304, 512)
    return value.T
