"""Small descriptions of arrays that tell how far two of them are apart, the same on every backend; of numpy alone."""

import functools
from typing import Any, Dict, List, Tuple

import numpy as np

SUMS = 16  # of a weight's change
DRAWN = 64  # numbers of each output


def plain_numbers(value: Any) -> Any:
    """JSON has no infinite numbers, and NaN: what is no number is None."""
    if isinstance(value, float):
        return float(f"{value:.7g}") if np.isfinite(value) else None
    if isinstance(value, dict):
        return {name: plain_numbers(one) for name, one in value.items()}
    return [plain_numbers(one) for one in value] if isinstance(value, list) else value


def changes(before: List[np.ndarray], after: List[np.ndarray]) -> List[np.ndarray]:
    return [new - old for old, new in zip(before, after)]


def norm(value: Any) -> float:
    return float(np.sqrt(np.sum(np.square(value, dtype="float64"))))


def sums(change: np.ndarray) -> List[float]:
    """Sums of its numbers with signs drawn alike on every backend: two changes are about as far apart as their sums.

    A count sketch (Charikar, Chen and Farach-Colton 2002): every number is in one of them.
    """
    flat = np.ravel(change)
    padded = np.zeros(-(-flat.size // SUMS) * SUMS)
    padded[: flat.size] = flat * _signs(flat.size)
    return padded.reshape(-1, SUMS).sum(axis=0).tolist()


@functools.lru_cache(maxsize=1)  # to draw takes longest, and sums of the same weight follow each other
def _signs(size: int) -> np.ndarray:
    return np.where(np.random.RandomState(0).rand(size) < 0.5, 1, -1).astype("int8")


def drawn(output: Any) -> Tuple[List[float], float]:
    """(numbers of an array, its largest number)."""
    flat = np.asarray(output).reshape(-1)
    places = np.arange(flat.size) if flat.size <= DRAWN else np.random.RandomState(0).randint(0, flat.size, DRAWN)
    numbers = [float(f"{number:.9g}") for number in np.asarray(flat[places], "float64")]
    return numbers, max(abs(float(np.max(flat))), abs(float(np.min(flat)))) if flat.size else 0.0


def apart(one: Dict[str, Any], other: Dict[str, Any]) -> float:
    """How far two that are `sampled` are apart, in the largest number of an output."""
    found = [0.0]
    for own, theirs, scale in zip(one["outputs"], other["outputs"], one["scales"]):
        off = float(np.max(np.abs(np.subtract(own, theirs)), initial=0.0)) if len(own) == len(theirs) else 1.0
        found.append(off / (scale or 1.0))
    return max(found)
