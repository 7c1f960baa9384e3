"""Layers around one that is tried behind a mask: what is masked is large, and what the next layer gets is shown."""

import functools
from typing import Any, Dict

LARGE = 5.0  # a step with such a number is masked


@functools.lru_cache(maxsize=None)
def classes() -> Dict[str, Any]:
    """Large, which masks, and Mask, which gives the mask that reaches it, or -1; by name."""
    import keras

    of = getattr(keras, "ops", keras.backend)

    class Large(keras.layers.Layer):
        supports_masking = True

        def call(self, x: Any) -> Any:
            return x + 0.0  # another tensor, which can have a mask

        def compute_mask(self, x: Any, mask: Any = None) -> Any:
            return of.less(of.max(x, axis=-1), LARGE)

    class Mask(keras.layers.Layer):
        def call(self, x: Any, mask: Any = None) -> Any:
            return of.zeros_like(x) - of.ones_like(x) if mask is None else of.cast(mask, x.dtype)

    return {"Large": Large, "Mask": Mask}
