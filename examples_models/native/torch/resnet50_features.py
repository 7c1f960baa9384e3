"""resnet50_features in PyTorch, whose pictures have their channels first."""

import torch
from torch import nn
from torch.nn import functional

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # filters, blocks, stride of the first
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
INITIALIZERS = {"Conv2D": ("HeNormal", "Zeros")}


def normalisation(filters):
    return nn.BatchNorm2d(filters, eps=0.001)


class Block(nn.Module):
    """A bottleneck of 1x1, 3x3 and 1x1 convolutions; its shortcut is a convolution where a stride is given."""

    def __init__(self, inputs, filters, stride):
        super().__init__()
        self.first, self.norm1 = nn.Conv2d(inputs, filters, 1, stride or 1), normalisation(filters)
        self.second, self.norm2 = nn.Conv2d(filters, filters, 3, padding=1), normalisation(filters)
        self.third, self.norm3 = nn.Conv2d(filters, 4 * filters, 1), normalisation(4 * filters)
        self.shortcut = nn.Conv2d(inputs, 4 * filters, 1, stride) if stride else None
        self.norm = normalisation(4 * filters) if stride else None

    def forward(self, x):
        y = functional.relu(self.norm1(self.first(x)))
        y = functional.relu(self.norm2(self.second(y)))
        y = self.norm3(self.third(y))
        return functional.relu(y + (self.norm(self.shortcut(x)) if self.shortcut else x))

    def layers(self):
        """As Keras has them: the convolution of the shortcut beside the last one."""
        last = (self.third, self.shortcut, self.norm3, self.norm) if self.shortcut else (self.third, self.norm3)
        return [self.first, self.norm1, self.second, self.norm2, *last]


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 64, 7, 2, padding=3), normalisation(64)
        self.blocks, inputs = nn.Sequential(), 64
        for filters, count, stride in STAGES:
            for number in range(count):
                self.blocks.append(Block(inputs, filters, None if number else stride))
                inputs = 4 * filters

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.norm(self.first(x))), 3, 2, padding=1)
        return self.blocks(x).mean(dim=(2, 3))

    def layers(self):
        return [self.first, self.norm, *(layer for block in self.blocks for layer in block.layers())]


def shapes(layer):
    if isinstance(layer, nn.Conv2d):
        filters, inputs, rows, columns = layer.weight.shape
        return "Conv2D", (rows, columns, inputs, filters), (filters,)
    return ("BatchNormalization",) + 4 * ((layer.num_features,),)


def tensors(layer):
    held = (layer.weight, layer.bias)
    return held if isinstance(layer, nn.Conv2d) else (*held, layer.running_mean, layer.running_var)


LAYERS = [shapes(layer) for layer in ResNet50().layers()]


def build(weights, dropout, seed):
    model = ResNet50()
    held = [tensor for layer in model.layers() for tensor in tensors(layer)]
    with torch.no_grad():
        for tensor, value in zip(held, weights):
            tensor.copy_(torch.from_numpy(value.transpose(3, 2, 0, 1) if value.ndim == 4 else value))
    return model.to(DEVICE).eval()


@torch.no_grad()
def predict(model, x):
    return model(torch.from_numpy(x).to(DEVICE)).cpu().numpy()


def weights(model):
    held = [tensor.detach().cpu().numpy() for layer in model.layers() for tensor in tensors(layer)]
    return [value.transpose(2, 3, 1, 0) if value.ndim == 4 else value for value in held]
