"""Kinds of parts of a training step that can be run alone."""

from typing import Any, Callable, Tuple

LAYER, WHOLE, OPTIMIZER, NOTHING = "layer", "whole", "optimizer", "nothing"

Run = Callable[[], Any]
Part = Tuple[str, str, str, Callable[[], Run]]  # kind, name, class, and what makes the function to be timed
