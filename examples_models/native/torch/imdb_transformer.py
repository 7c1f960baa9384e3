"""imdb_transformer in PyTorch, with its own fused attention."""

import torch
from torch import nn
from torch.nn import functional

ATTENTION = ("MultiHeadAttention", *[(64, 4, 16), (4, 16)] * 3, (4, 16, 64), (64,))
NORMALIZATION = ("LayerNormalization", (64,), (64,))
BLOCK = [ATTENTION, NORMALIZATION, ("Dense", (64, 128), (128,)), ("Dense", (128, 64), (64,)), NORMALIZATION]
LAYERS = [("TokenAndPositionEmbedding", (30000, 64), (150, 64)), *BLOCK, *BLOCK, ("Dense", (64, 2), (2,))]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Block(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(64, 64) for _ in range(4))
        self.attended = nn.LayerNorm(64, eps=1e-6)
        self.wide, self.narrow = nn.Linear(64, 128), nn.Linear(128, 64)
        self.fed = nn.LayerNorm(64, eps=1e-6)
        self.dropout = nn.Dropout(rate)

    def forward(self, x):
        q, k, v = (of(x).unflatten(2, (4, 16)).transpose(1, 2) for of in (self.query, self.key, self.value))
        y = functional.scaled_dot_product_attention(q, k, v)
        x = self.attended(x + self.dropout(self.out(y.transpose(1, 2).flatten(2))))
        return self.fed(x + self.dropout(self.narrow(functional.relu(self.wide(x)))))


class Net(nn.Module):
    """Its parameters are in the order of LAYERS."""

    def __init__(self, rate):
        super().__init__()
        self.tokens, self.places = nn.Embedding(30000, 64), nn.Embedding(150, 64)
        self.blocks = nn.Sequential(Block(rate), Block(rate))
        self.dropout, self.dense = nn.Dropout(rate), nn.Linear(64, 2)

    def forward(self, x):
        x = self.blocks(self.tokens(x) + self.places.weight)
        return self.dense(self.dropout(x.mean(dim=1)))


class Adam(torch.optim.Optimizer):
    """With Keras's formula: PyTorch's own has epsilon beside the corrected root."""

    def __init__(self, params, **settings):
        super().__init__(params, settings)
        self.steps = 0

    @torch.no_grad()
    def step(self):
        self.steps += 1
        (group,) = self.param_groups
        beta_1, beta_2 = group["beta_1"], group["beta_2"]
        rate = group["learning_rate"] * (1.0 - beta_2**self.steps) ** 0.5 / (1.0 - beta_1**self.steps)
        for param in group["params"]:
            held = self.state[param] or {"mean": torch.zeros_like(param), "square": torch.zeros_like(param)}
            self.state[param] = held
            held["mean"].lerp_(param.grad, 1.0 - beta_1)
            held["square"].mul_(beta_2).addcmul_(param.grad, param.grad, value=1.0 - beta_2)
            param.addcdiv_(held["mean"], held["square"].sqrt().add_(group["epsilon"]), value=-rate)


def build(weights, dropout, seed):
    torch.manual_seed(seed)
    model = Net(0.1 if dropout else 0.0)
    with torch.no_grad():
        for number, (param, value) in enumerate(zip(model.parameters(), map(torch.from_numpy, weights))):
            linear = param.ndim == 2 and number > 1  # not an embedding
            param.copy_(value.reshape(param.shape[::-1]).T if linear else value.reshape(param.shape))
    return model.to(DEVICE)


def optimizer(model, learning_rate, beta_1, beta_2, epsilon):
    return Adam(model.parameters(), learning_rate=learning_rate, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon)


def step(model, optimizer, x, y):
    x, y = torch.from_numpy(x).long().to(DEVICE), torch.from_numpy(y).long().to(DEVICE)
    optimizer.zero_grad()
    logits = model.train()(x)
    loss = functional.cross_entropy(logits, y)
    loss.backward()
    optimizer.step()
    return loss.detach(), (logits.argmax(-1) == y).float().mean()


@torch.no_grad()
def predict(model, x):
    return functional.softmax(model.eval()(torch.from_numpy(x).long().to(DEVICE)), dim=-1).cpu().numpy()


def weights(model):
    shapes = [shape for layer in LAYERS for shape in layer[1:]]
    held = [param.detach().cpu().numpy() for param in model.parameters()]
    turned = held[:2] + [value.T for value in held[2:]]
    return [value.reshape(shape) for value, shape in zip(turned, shapes)]
