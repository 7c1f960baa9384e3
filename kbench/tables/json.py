"""JSON for other programs, with null for NaN and infinity, which JSON does not have."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping


def as_json(value: object) -> str:
    """`value`, of mappings, sequences, text and numbers, as indented JSON."""
    return json.dumps(_finite(value), indent=1)


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
