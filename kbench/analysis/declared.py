"""Whether a difference that a backend's file declares in `[[explained]]` can show in a model."""

from __future__ import annotations

from kbench.backend_keys import Explanation
from kbench.reported import Facts


def can_show(known: Explanation, facts: Facts, layer: str = "") -> bool:
    """Whether the model has the layers and settings that it needs, and its training the optimizer. layer: the class
    of one that it is known to have.

    What else it needs, such as another backend beside it or a distance within its bound, each place asks itself.
    """
    needed = {known.layer, known.with_layer, known.setting} - {""}
    return needed <= {layer, *facts.layer_words} and known.optimizer in ("", facts.optimizer_class)
