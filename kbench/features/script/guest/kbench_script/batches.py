"""The batches that a call of fit begins with, whatever feeds it."""

import itertools
import operator
from typing import Any, Dict, List, Tuple

import numpy as np

from kbench_guest.arrays import each, leaves, mapped
from kbench_guest.protocol import Refused


def first_batches(method: str, given: Dict[str, Any], count: int) -> List[Tuple[Any, ...]]:
    """[(x, y, sample weights)]: arrays of the call's first batches, at most `count`. Raises Refused for others."""
    x = given.get("x", given.get("generator"))
    whole = (x, given.get("y"), given.get("sample_weight"))
    if not method.startswith("fit"):
        batches = [whole]
    elif not isinstance(x, (list, tuple, dict)) and not hasattr(x, "dtype"):
        batches = [_three(one) for one in itertools.islice(each(x), count)]
    else:
        size = int(given.get("batch_size") or 32)
        whole = tuple(_arrays(one) for one in whole)
        most = max(1, min(count, len(leaves(whole[0])[0]) // size)) * size
        batches = [mapped(operator.itemgetter(slice(start, start + size)), whole) for start in range(0, most, size)]
    return [tuple(_arrays(part) for part in one) for one in batches]


def _three(batch: Any) -> Tuple[Any, ...]:
    """x, y and sample weights of what a generator gives."""
    batch = tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)
    return (batch + (None, None))[:3]


def _arrays(value: Any) -> Any:
    """The same with numpy arrays in it."""
    if value is None:
        return None
    if isinstance(value, dict):
        return {str(name): _arrays(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)) and not np.isscalar(value[0]):
        return [_arrays(one) for one in value]
    found = np.asarray(value)
    if found.dtype.kind == "S":
        found = found.astype("U")
    if found.dtype.kind not in "biufU":
        raise Refused("unsupported", f"its data are {found.dtype}, not arrays of numbers")
    return found
