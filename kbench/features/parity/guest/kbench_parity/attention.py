"""Layers of transformers in the numpy reference."""

from typing import Any, Dict, List

import numpy as np

from kbench_parity.activations import Unknown, activation, expect, softmax
from kbench_parity.images import scaled, standardized

Arrays = List[np.ndarray]


def multi_head_attention(config: Dict[str, Any], weights: Arrays, taken: Arrays) -> np.ndarray:
    """Vaswani et al. (2017), section 3.2.2. taken: query, value and, if it is another one, key."""
    call = {name: value for name, value in config.get("call", {}).items() if value not in (None, False)}
    masked = call.pop("use_causal_mask", False)
    if call or len(taken) > 3:
        raise Unknown(f"MultiHeadAttention with {', '.join(sorted(call)) or 'a mask'}")
    query, value, key = [one.astype("float64") for one in (taken[0], taken[min(1, len(taken) - 1)], taken[-1])]
    if any(one.ndim != 3 for one in (query, value, key)):
        raise Unknown("MultiHeadAttention over several axes")
    expect(config, dropout=0.0)
    each = 2 if config.get("use_bias", True) else 1
    parts = [weights[start : start + each] for start in range(0, 4 * each, each)]
    q, k, v = [np.einsum("btw,whd->bthd", x, part[0]) + sum(part[1:]) for x, part in zip((query, key, value), parts)]
    scores = np.einsum("bthd,bshd->bhts", q, k) / np.sqrt(config["key_dim"])
    if masked:
        scores = np.where(np.tri(*scores.shape[2:]) > 0, scores, -np.inf)
    attended = np.einsum("bhts,bshd->bthd", softmax(scores), v)
    return np.einsum("bthd,hdw->btw", attended, parts[3][0]) + sum(parts[3][1:])


def layer_normalization(config: Dict[str, Any], weights: Arrays, x: np.ndarray) -> np.ndarray:
    """Over the last axis."""
    if np.ravel(config.get("axis", -1)).tolist() not in ([-1], [x.ndim - 1]):
        raise Unknown(f"axis={config['axis']}")
    expect(config, rms_scaling=False)
    return scaled(config, weights, standardized(x.astype("float64"), (-1,), config["epsilon"]))


def einsum_dense(config: Dict[str, Any], weights: Arrays, x: np.ndarray) -> np.ndarray:
    y = np.einsum(config["equation"], x.astype("float64"), weights[0])
    return activation(config["activation"], y + weights[1] if len(weights) > 1 else y)


def token_and_position_embedding(config: Dict[str, Any], weights: Arrays, x: np.ndarray) -> np.ndarray:
    """The layer of that name in Keras's own example: a row for each token plus one for its place."""
    tokens, places = weights
    return tokens[x.astype("int64")] + places[: x.shape[1]]
