"""What must be equal on all backends besides the layers: optimizer, loss, batch size and dtype.

Two cells are compared only if these agree. The values are the backend's own, not those that were asked for.
"""

import json
from typing import TYPE_CHECKING, Any, Dict, List

from kbench_guest.frameworks.layer_settings import dropped_defaults, plain

if TYPE_CHECKING:
    from kbench_guest.frameworks.interface import Weights
    from kbench_guest.frameworks.keras_models import KerasModels


def compiled(framework: "KerasModels", model: Any, example: Any, batch_size: int) -> Dict[str, Any]:
    """{optimizer, loss, batch_size} of a compiled model."""
    loss = example.LOSS if isinstance(example.LOSS, str) else json.dumps(plain(example.LOSS), sort_keys=True)
    return {"optimizer": optimizer(framework, model), "loss": loss, "batch_size": batch_size}


def optimizer(framework: "KerasModels", model: Any) -> Dict[str, Any]:
    """{class_name, learning_rate, ...} of a compiled model's optimizer, in Keras 3's words."""
    held = framework.optimizer_settings(model.optimizer)
    return dropped_defaults({name: plain(value) for name, value in held.items()})


def dtypes(framework: "Weights", model: Any) -> List[str]:
    """The dtypes of the model's weights, each once."""
    return sorted({framework.dtype_of(weight) for weight in model.weights})
