"""fcn_r in PyTorch."""

import os

import torch
from torch import nn
from torch.nn import functional

SIZES = (784, 2048, 4096, 1024, 10)
LAYERS = [("Dense", (inputs, outputs), (outputs,)) for inputs, outputs in zip(SIZES, SIZES[1:])]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def build(weights, dropout, seed):
    model = nn.Sequential(
        nn.Linear(784, 2048), nn.Sigmoid(),
        nn.Linear(2048, 4096), nn.Sigmoid(),
        nn.Linear(4096, 1024), nn.Sigmoid(),
        nn.Linear(1024, 10),
    )  # fmt: skip
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), weights):
            parameter.copy_(torch.from_numpy(value.T))  # PyTorch keeps a kernel as (outputs, inputs)
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
    return [parameter.detach().cpu().numpy().T for parameter in model.parameters()]
