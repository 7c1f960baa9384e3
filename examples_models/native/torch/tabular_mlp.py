"""tabular_mlp in PyTorch."""

from itertools import count

import torch
from torch import nn
from torch.nn import functional

CATEGORIES = {"customer": 2000, "product": 500, "region": 50, "weekday": 7}
LAYERS = [
    *(("Embedding", (values, 16)) for values in CATEGORIES.values()),
    ("Dense", (74, 128), (128,)), ("BatchNormalization", *4 * ((128,),)),
    ("Dense", (128, 64), (64,)), ("BatchNormalization", *4 * ((64,),)),
    ("Dense", (64, 1), (1,)),
]  # fmt: skip
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class BatchNorm(nn.BatchNorm1d):
    def forward(self, x):
        old = 0.99 * self.running_var
        y = super().forward(x)
        if self.training:  # Keras takes the variance of the n numbers, PyTorch n / (n - 1) times that
            self.running_var = self.running_var.lerp(old, 1.0 / len(x))
        return y


class MLP(nn.Module):
    """Its layers are in the order of LAYERS."""

    def __init__(self, rate):
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(values, 16) for values in CATEGORIES.values())
        self.first, self.norm1 = nn.Linear(74, 128), BatchNorm(128, eps=0.001, momentum=0.01)
        self.second, self.norm2 = nn.Linear(128, 64), BatchNorm(64, eps=0.001, momentum=0.01)
        self.last, self.dropout = nn.Linear(64, 1), nn.Dropout(rate)

    def forward(self, numbers, *categories):
        vectors = [embedding(one).flatten(1) for embedding, one in zip(self.embeddings, categories)]
        x = torch.cat([*vectors, numbers], dim=1)
        x = self.dropout(functional.relu(self.norm1(self.first(x))))
        return self.last(self.dropout(functional.relu(self.norm2(self.second(x)))))


def tensors(model):
    layers = [*model.embeddings, model.first, model.norm1, model.second, model.norm2, model.last]
    return [tensor for layer in layers for tensor in (*layer.parameters(), *list(layer.buffers())[:2])]


def turned(value, number):
    return value.T if number >= len(CATEGORIES) else value  # PyTorch's kernels are (outputs, inputs)


def build(weights, dropout, seed):
    torch.manual_seed(seed)
    model = MLP(0.1 if dropout else 0.0)
    with torch.no_grad():
        for number, (tensor, value) in enumerate(zip(tensors(model), weights)):
            tensor.copy_(torch.from_numpy(turned(value, number)))
    return model.to(DEVICE)


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    adam = torch.optim.Adam(model.parameters(), lr=learning_rate, betas=(beta_1, beta_2))
    adam.epsilons = (epsilon / (1.0 - beta_2**steps) ** 0.5 for steps in count(1))
    return adam


def given(x):
    return [torch.from_numpy(x[name]).to(DEVICE) for name in ("numbers", *CATEGORIES)]


def step(model, optimizer, x, y):
    y = torch.from_numpy(y).to(DEVICE)
    optimizer.zero_grad()
    logits = model.train()(*given(x))
    loss = functional.binary_cross_entropy_with_logits(logits, y)
    loss.backward()
    optimizer.param_groups[0]["eps"] = next(optimizer.epsilons)  # Keras's is beside the root before its correction
    optimizer.step()
    return loss.detach(), ((logits > 0) == (y > 0)).float().mean()


@torch.no_grad()
def predict(model, x):
    return torch.sigmoid(model.eval()(*given(x))).cpu().numpy()


def weights(model):
    return [turned(tensor.detach().cpu().numpy(), number) for number, tensor in enumerate(tensors(model))]
