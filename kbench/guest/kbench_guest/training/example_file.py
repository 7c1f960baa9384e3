"""An example's file, loaded as a module: its targets and class weights."""

import importlib.util
import os
import re
import sys
from typing import TYPE_CHECKING, Any, Dict, List

from kbench_guest import arrays
from kbench_guest.protocol import Refused, in_a_line, line_in

if TYPE_CHECKING:
    from kbench_guest.arrays import Part


# Layers that came after Keras 2.2: an example that imports one is none for it.
NEWER = (
    "AdditiveAttention", "Attention", "EinsumDense", "GroupNormalization", "GroupQueryAttention",
    "LayerNormalization", "MultiHeadAttention", "RMSNormalization", "SpectralNormalization", "UnitNormalization",
)  # fmt: skip


def load(path: str) -> Any:
    """The example's module. Raises Refused, of the kind 'example', if the file raises; 'unsupported' if this Keras
    is older than a layer that the file imports."""
    module_spec = importlib.util.spec_from_file_location("example", path)
    module = importlib.util.module_from_spec(module_spec)
    sys.dont_write_bytecode = True  # or an example that was edited within a second would run as it was before
    try:
        module_spec.loader.exec_module(module)
    except Exception as error:
        absent = re.match(r"cannot import name '(\w+)'", str(error)) if isinstance(error, ImportError) else None
        if absent and absent.group(1) in NEWER:
            import keras

            raise Refused("unsupported", f"Keras {keras.__version__} has no {absent.group(1)}") from error
        why = f"{os.path.basename(path)} raises on import: {line_in(path, error)}{in_a_line(error)}"
        raise Refused("example", why) from error
    finally:
        sys.dont_write_bytecode = False
    return module


def training_targets(example: Any, part: "Part", num_classes: int) -> List[Any]:
    """The part's targets as the example's loss wants them; [] if there are none."""
    labels = arrays.class_numbers(part)
    encoded = getattr(example, "LOSS", None) == "categorical_crossentropy"
    if labels is not None and encoded:
        return [arrays.one_hot(labels, num_classes)]
    if encoded and len(part.targets) == 1 and part.targets[0].ndim == 1:
        raise Refused("example", "LOSS is categorical_crossentropy, but the targets are not class numbers")
    return list(part.targets)


def class_weights(example: Any) -> Dict[str, Any]:
    """{"class_weight": ...} if the example has class weights, else {}."""
    return {"class_weight": example.CLASS_WEIGHT} if getattr(example, "CLASS_WEIGHT", None) else {}
