"""What a run's record says of the machine's limits, which were measured more than once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def larger(provenance: Mapping[str, Any]) -> dict[str, object]:
    """What was measured of the machine's limits: of the run's start and its end the one with the larger rate.

    Whatever else the machine did meanwhile makes a rate smaller, and nothing makes it larger.
    """
    ended = provenance.get("ended")
    told = [provenance.get("limits"), ended.get("limits") if isinstance(ended, Mapping) else None]
    known = [one for one in told if isinstance(one, Mapping)]
    found: dict[str, object] = dict(known[0]) if known else {}
    for rate, size in (("operations_per_second", "matrix"), ("bytes_per_second", "array_bytes")):
        rated = [one for one in known if isinstance(one.get(rate), int | float) and 0 < one[rate] < math.inf]
        if rated:
            best = max(rated, key=lambda one, rate=rate: one[rate])  # type: ignore[misc]
            found |= {rate: best[rate], size: best.get(size)}
    return found
