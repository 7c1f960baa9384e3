"""cifar10_efficientnet in PyTorch, whose pictures have their channels first."""

from itertools import count

import torch
from torch import nn
from torch.nn import functional

WIDTHS = (32, 16, 24, 24, 40, 40, 80, 80, 80, 112, 112, 112, 192, 192, 192, 192, 320)  # before and behind the blocks
SIZES, STRIDES = (3, 3, 3, 5, 5, 3, 3, 3, 5, 5, 5, 5, 5, 5, 5, 3), (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class BatchNorm(nn.BatchNorm2d):
    def forward(self, x):
        old = 0.99 * self.running_var
        y = super().forward(x)
        if self.training:  # Keras takes the variance of the n numbers, PyTorch n / (n - 1) times that
            self.running_var = self.running_var.lerp(old, x.shape[1] / x.numel())
        return y


def convolution(inputs, filters, size=1, stride=1, groups=1):
    kernel = nn.Conv2d(inputs, filters, size, stride, padding=size // 2, groups=groups, bias=False)
    return nn.Sequential(kernel, BatchNorm(filters, eps=0.001, momentum=0.01))


class Block(nn.Module):
    def __init__(self, before, filters, size, stride):
        super().__init__()
        inside, few = before if before == 32 else 6 * before, before // 4  # the first block is not wider inside
        self.wide = nn.Sequential(convolution(before, inside), nn.SiLU()) if inside > before else nn.Identity()
        self.each = nn.Sequential(convolution(inside, inside, size, stride, groups=inside), nn.SiLU())
        self.weigh = nn.Sequential(nn.Linear(inside, few), nn.SiLU(), nn.Linear(few, inside), nn.Sigmoid())
        self.narrow = convolution(inside, filters)

    def forward(self, x):
        y = self.each(self.wide(x))
        y = self.narrow(y * self.weigh(y.mean(dim=(2, 3)))[:, :, None, None])
        return x + y if x.shape == y.shape else y


def network(rate):
    blocks = [Block(*settings) for settings in zip(WIDTHS, WIDTHS[1:], SIZES, STRIDES)]
    last = [convolution(320, 1280), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(convolution(3, 32, 3), nn.SiLU(), *blocks, *last, nn.Dropout(rate), nn.Linear(1280, 10))


def by_layer(model):
    """[(class in Keras, its weights as views in Keras's layout)], with the averages of batch normalisation."""
    for layer in model.modules():
        own = [*layer.parameters(recurse=False), *list(layer.buffers(recurse=False))[:2]]
        each = getattr(layer, "groups", 1) > 1
        kind = {nn.Linear: "Dense", BatchNorm: "BatchNormalization"}.get(type(layer), each * "Depthwise" + "Conv2D")
        axes = {1: (0,), 2: (1, 0), 4: (2, 3, 0, 1) if each else (2, 3, 1, 0)}
        if own:
            yield kind, [tensor.detach().permute(axes[tensor.ndim]) for tensor in own]


LAYERS = [(kind, *(tuple(view.shape) for view in views)) for kind, views in by_layer(network(0.0))]
HE = ("VarianceScaling", {"scale": 2.0, "mode": "fan_out", "distribution": "normal"})
INITIALIZERS = {"Conv2D": (HE,), "DepthwiseConv2D": (HE,), "Dense": (HE, "Zeros"), -1: ("GlorotUniform", "Zeros")}


def build(weights, dropout, seed):
    torch.manual_seed(seed)
    model = network(0.2 if dropout else 0.0)
    for view, value in zip((view for _, views in by_layer(model) for view in views), weights):
        view.copy_(torch.from_numpy(value))
    return model.to(DEVICE)


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    adam = torch.optim.Adam(model.parameters(), lr=learning_rate, betas=(beta_1, beta_2))
    adam.epsilons = (epsilon / (1.0 - beta_2**steps) ** 0.5 for steps in count(1))
    return adam


def step(model, optimizer, x, y):
    x, y = torch.from_numpy(x).to(DEVICE), torch.from_numpy(y).long().to(DEVICE)
    optimizer.zero_grad()
    logits = model.train()(x)
    loss = functional.cross_entropy(logits, y)
    loss.backward()
    optimizer.param_groups[0]["eps"] = next(optimizer.epsilons)  # Keras's is beside the root before its correction
    optimizer.step()
    return loss.detach(), (logits.argmax(1) == y).float().mean()


@torch.no_grad()
def predict(model, x):
    return functional.softmax(model.eval()(torch.from_numpy(x).to(DEVICE)), dim=1).cpu().numpy()


def weights(model):
    return [view.cpu().numpy() for _, views in by_layer(model) for view in views]
