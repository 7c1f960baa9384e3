"""What a request changes in a program: the data of its fits, or whether their steps are compiled."""

import functools
import time
from typing import TYPE_CHECKING, Any, Dict, Iterator, Optional, Sequence

import numpy as np

from kbench_guest.arrays import leaves, mapped
from kbench_guest.protocol import Refused
from kbench_script.batches import first_batches

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels

MOST_BYTES = 1 << 28  # of the arrays that hold one batch again and again
COPIES = 11  # of a batch, timed one by one


def compile_otherwise(model_class: Any, framework: "KerasModels") -> None:
    """Let models run compiled if the program has them run eagerly, and else invert jit_compile. Raises Refused."""
    if not hasattr(model_class, "jit_compile"):
        raise Refused("unsupported", "this Keras has no jit_compile")
    original = model_class.compile

    @functools.wraps(original)
    def compiled(model: Any, *args: Any, **kwargs: Any) -> None:
        if framework.supports_run_eagerly and kwargs.get("run_eagerly"):
            original(model, *args, **dict(kwargs, run_eagerly=False))
            return
        original(model, *args, **kwargs)
        model.jit_compile = not model.jit_compile

    model_class.compile = compiled


def transfer_seconds(framework: "KerasModels", model: Any, batch: Any) -> Optional[float]:
    """The median time of copying a batch to the device and a number back; None if the framework cannot say."""
    if not framework.eager:
        return None
    numbers = [one for one in leaves(batch) if one.dtype.kind != "U"]
    seconds = []
    for _ in range(COPIES):
        start = time.perf_counter()
        _transfer(framework, model, numbers)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def _transfer(framework: "KerasModels", model: Any, numbers: Sequence[Any]) -> None:
    import keras

    of_keras3 = hasattr(keras, "ops")
    convert = keras.ops.convert_to_tensor if of_keras3 else framework.module.convert_to_tensor
    copied = [convert(one) for one in [*numbers, np.float32(1)]]
    framework.wait(model, copied)
    if of_keras3:
        keras.ops.convert_to_numpy(copied[-1])
    else:
        copied[-1].numpy()


def repeat_first(method: str, given: Dict[str, Any]) -> Any:
    """Feed a fit its first batch again and again, from memory, so that data take almost no time; returns it."""
    name = "generator" if "generator" in given else "x"
    source = given[name]
    batch = first_batches(method, given, 1)[0]
    if hasattr(source, "__next__"):
        given[name] = _forever(batch)
        return batch
    size = len(leaves(batch[0])[0])
    if isinstance(source, (list, tuple, dict)) or hasattr(source, "dtype"):
        times = -(-len(leaves(source)[0]) // size)
    else:
        times = len(source) if hasattr(source, "__len__") else int(given.get("steps_per_epoch") or 20)
    times = max(1, min(times, MOST_BYTES // max(1, sum(one.nbytes for one in leaves(batch)))))
    if name == "generator":  # a Sequence of Keras 2, whose fit_generator takes no arrays
        given[name] = _forever(batch)
        given["steps_per_epoch"] = times
        return batch
    parts = zip(("x", "y", "sample_weight"), batch)
    tiled = {part: mapped(lambda one: np.concatenate([one] * times), one) for part, one in parts if one is not None}
    given.update(tiled, batch_size=size)
    given.pop("steps_per_epoch", None)
    return batch


def _forever(batch: Any) -> Iterator[Any]:
    """A generator, which is what Keras takes."""
    while True:
        yield tuple(one for one in batch if one is not None)
