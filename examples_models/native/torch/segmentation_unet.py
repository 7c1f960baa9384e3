"""segmentation_unet in PyTorch, whose pictures have their channels first."""

from itertools import count

import torch
from torch import nn
from torch.nn import functional

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def convolutions(inputs, filters):
    first, second = nn.Conv2d(inputs, filters, 3, padding=1), nn.Conv2d(filters, filters, 3, padding=1)
    return nn.Sequential(first, nn.ReLU(), second, nn.ReLU())


class Up(nn.Module):
    """Twice as large, beside what was there before the halving."""

    def __init__(self, filters):
        super().__init__()
        self.transposed = nn.ConvTranspose2d(2 * filters, filters, 2, stride=2)
        self.convolutions = convolutions(2 * filters, filters)

    def forward(self, x, before):
        return self.convolutions(torch.cat([before, self.transposed(x)], dim=1))


class UNet(nn.Module):
    """Its parameters are in the order of the Keras layers."""

    def __init__(self):
        super().__init__()
        counts = (1, 16, 32, 64, 128)
        self.down = nn.ModuleList(convolutions(*inside) for inside in zip(counts, counts[1:]))
        self.up = nn.ModuleList(Up(filters) for filters in (64, 32, 16))
        self.last = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        before = []
        for down in self.down[:-1]:
            before.append(down(x))
            x = functional.max_pool2d(before[-1], 2)
        x = self.down[-1](x)
        for up in self.up:
            x = up(x, before.pop())
        return self.last(x).reshape(len(x), -1, 1)


def to_keras(param):
    return param.detach().cpu().numpy().transpose((2, 3, 1, 0) if param.ndim == 4 else (0,))


KINDS = {nn.Conv2d: "Conv2D", nn.ConvTranspose2d: "Conv2DTranspose"}
INITIALIZERS = {"Conv2D": ("HeNormal", "Zeros"), -1: ("GlorotUniform", "Zeros")}
ALL = [layer for layer in UNet().modules() if type(layer) in KINDS]
LAYERS = [(KINDS[type(layer)], to_keras(layer.weight).shape, tuple(layer.bias.shape)) for layer in ALL]


def build(weights, dropout, seed):
    model = UNet()
    with torch.no_grad():
        for param, value in zip(model.parameters(), weights):
            param.copy_(torch.from_numpy(value.transpose(3, 2, 0, 1) if value.ndim == 4 else value))
    return model.to(DEVICE)


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    adam = torch.optim.Adam(model.parameters(), lr=learning_rate, betas=(beta_1, beta_2))
    adam.epsilons = (epsilon / (1.0 - beta_2**steps) ** 0.5 for steps in count(1))
    return adam


def step(model, optimizer, x, y):
    x, y = torch.from_numpy(x).to(DEVICE), torch.from_numpy(y).to(DEVICE)
    optimizer.zero_grad()
    logits = model(x)
    loss = functional.binary_cross_entropy_with_logits(logits, y)
    loss.backward()
    optimizer.param_groups[0]["eps"] = next(optimizer.epsilons)  # Keras's is beside the root before its correction
    optimizer.step()
    return loss.detach(), ((logits > 0) == (y > 0)).float().mean()


@torch.no_grad()
def predict(model, x):
    return torch.sigmoid(model(torch.from_numpy(x).to(DEVICE))).cpu().numpy()


def weights(model):
    return [to_keras(param) for param in model.parameters()]
