"""resnet56 in PyTorch, whose pictures have their channels first."""

import os

import torch
from torch import nn
from torch.nn import functional

WEIGHT_DECAY = 1e-4  # of the kernels, and part of the loss, as in Keras
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Convolution(nn.Module):
    def __init__(self, inputs, filters, stride=1):
        super().__init__()
        self.convolution = nn.Conv2d(inputs, filters, 3, stride, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(filters, eps=1e-5, momentum=0.1)

    def forward(self, x):
        return self.norm(self.convolution(x))


class Block(nn.Module):
    def __init__(self, inputs, filters):
        super().__init__()
        self.halves = inputs != filters
        self.first, self.second = Convolution(inputs, filters, 1 + self.halves), Convolution(filters, filters)

    def forward(self, x):
        y = self.second(functional.relu(self.first(x)))
        if self.halves:
            x = functional.pad(functional.avg_pool2d(x, 2), (0, 0, 0, 0, 0, x.shape[1]))
        return x + y


class ResNet56(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = Convolution(3, 16), nn.Linear(64, 10)
        counts = (16,) * 10 + (32,) * 9 + (64,) * 9
        self.blocks = nn.Sequential(*(Block(*inside) for inside in zip(counts, counts[1:])))

    def forward(self, x):
        return self.last(self.blocks(functional.relu(self.first(x))).mean(dim=(2, 3)))

    def layers(self):
        pairs = [self.first, *(part for block in self.blocks for part in (block.first, block.second))]
        return [layer for pair in pairs for layer in (pair.convolution, pair.norm)] + [self.last]


def tensors(layer):
    return [*layer.parameters(), *list(layer.buffers())[:2]]  # the averages, but not the count of batches


KINDS = {nn.Conv2d: "Conv2D", nn.BatchNorm2d: "BatchNormalization", nn.Linear: "Dense"}
INITIALIZERS = {"Conv2D": ("HeNormal",)}


def to_keras(tensor):
    value = tensor.detach().cpu().numpy()
    return value.transpose(2, 3, 1, 0) if value.ndim == 4 else value.T


LAYERS = [(KINDS[type(layer)], *(to_keras(one).shape for one in tensors(layer))) for layer in ResNet56().layers()]


def build(weights, dropout, seed):
    model = ResNet56().to(DEVICE)
    held = [tensor for layer in model.layers() for tensor in tensors(layer)]
    with torch.no_grad():
        for tensor, value in zip(held, weights):
            tensor.copy_(torch.from_numpy(value.transpose(3, 2, 0, 1) if value.ndim == 4 else value.T))
    return torch.compile(model) if os.environ.get("TORCH_COMPILE") else model


def optimizer(model, learning_rate, momentum, nesterov):
    return torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=momentum, nesterov=nesterov)


def step(model, optimizer, x, y):
    x, y = torch.from_numpy(x).to(DEVICE), torch.from_numpy(y).long().to(DEVICE)
    model.train()
    optimizer.zero_grad()
    logits = model(x)
    kernels = (layer.weight for layer in model.layers() if not isinstance(layer, nn.BatchNorm2d))
    penalty = WEIGHT_DECAY / 2 * sum(kernel.square().sum() for kernel in kernels)
    loss = functional.cross_entropy(logits, y) + penalty
    loss.backward()
    optimizer.step()
    return loss.detach(), (logits.argmax(1) == y).float().mean()


@torch.no_grad()
def predict(model, x):
    model.eval()
    return functional.softmax(model(torch.from_numpy(x).to(DEVICE)), dim=1).cpu().numpy()


def weights(model):
    return [to_keras(tensor) for layer in model.layers() for tensor in tensors(layer)]
