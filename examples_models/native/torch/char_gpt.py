"""char_gpt in PyTorch, with its own fused attention."""

import torch
from torch import nn
from torch.nn import functional

ATTENTION = ("MultiHeadAttention", *[(128, 4, 32), (4, 32)] * 3, (4, 32, 128), (128,))
NORMALIZATION = ("LayerNormalization", (128,), (128,))
BLOCK = [NORMALIZATION, ATTENTION, NORMALIZATION, ("Dense", (128, 512), (512,)), ("Dense", (512, 128), (128,))]
EMBEDDING = ("TokenAndPositionEmbedding", (68, 128), (64, 128))
LAYERS = [EMBEDDING, *BLOCK, *BLOCK, NORMALIZATION, ("Dense", (128, 68), (68,))]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Block(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.before = nn.LayerNorm(128, eps=1e-5)
        self.query, self.key, self.value, self.out = (nn.Linear(128, 128) for _ in range(4))
        self.between = nn.LayerNorm(128, eps=1e-5)
        self.wide, self.narrow = nn.Linear(128, 512), nn.Linear(512, 128)
        self.dropout = nn.Dropout(rate)

    def forward(self, x):
        y = self.before(x)
        q, k, v = (of(y).unflatten(2, (4, 32)).transpose(1, 2) for of in (self.query, self.key, self.value))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.dropout(self.out(y.transpose(1, 2).flatten(2)))
        return x + self.dropout(self.narrow(functional.gelu(self.wide(self.between(x)))))


class Net(nn.Module):
    """Its parameters are in the order of LAYERS."""

    def __init__(self, rate):
        super().__init__()
        self.tokens, self.places = nn.Embedding(68, 128), nn.Embedding(64, 128)
        self.blocks = nn.Sequential(Block(rate), Block(rate))
        self.last, self.dense = nn.LayerNorm(128, eps=1e-5), nn.Linear(128, 68)

    def forward(self, x):
        x = self.blocks(self.tokens(x) + self.places.weight)
        return self.dense(self.last(x))


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
    loss = functional.cross_entropy(logits.flatten(0, 1), y.flatten())
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
