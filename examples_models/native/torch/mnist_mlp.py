"""mnist_mlp in PyTorch."""

import os

import torch
from torch import nn
from torch.nn import functional

LAYERS = [("Dense", (784, 512), (512,)), ("Dense", (512, 512), (512,)), ("Dense", (512, 10), (10,))]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def build(weights, dropout, seed):
    torch.manual_seed(seed)
    rate = 0.2 if dropout else 0.0
    model = nn.Sequential(
        nn.Linear(784, 512), nn.ReLU(), nn.Dropout(rate),
        nn.Linear(512, 512), nn.ReLU(), nn.Dropout(rate),
        nn.Linear(512, 10),
    )  # fmt: skip
    with torch.no_grad():
        for parameter, value in zip(model.parameters(), weights):
            parameter.copy_(torch.from_numpy(value.T))  # PyTorch keeps a kernel as (outputs, inputs)
    model = model.to(DEVICE)
    return torch.compile(model) if os.environ.get("TORCH_COMPILE") else model


def optimizer(model, learning_rate, rho, epsilon):
    return torch.optim.RMSprop(model.parameters(), lr=learning_rate, alpha=rho, eps=epsilon)


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
    return [parameter.detach().cpu().numpy().T for parameter in model.parameters()]
