"""How close a measured time comes to this machine's limit: the roofline model, for a whole model.

Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for Multicore Architectures",
Communications of the ACM 52 (4), 2009: work takes at least as long as its operations do at the machine's arithmetic
rate, and at least as long as the bytes that it has to move do at the memory's.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from kbench.analysis.times import flops
from kbench.records.reported import Facts, Layer, Shape

BYTES = 4  # of a number: float32
Rate = Annotated[float, msgspec.Meta(gt=0, le=sys.float_info.max)]


@dataclass(frozen=True)
class Limits:
    """What this machine was measured to do at most."""

    operations_per_second: Rate  # float32, in a matrix product
    bytes_per_second: Rate  # read and written, of arrays larger than the caches
    cache_bytes: int | None = None  # of the largest cache; None where it is not known


@dataclass(frozen=True)
class RooflineWork:
    """What one sample takes."""

    operations: int  # of a training step, or of a forward pass where nothing is trained
    layers: tuple[Layer, ...]
    inputs: tuple[Shape, ...]
    trains: bool


def limits(reported: object) -> Limits | None:
    """The measured limits; None where they were not measured."""
    try:
        return msgspec.convert(reported, Limits)
    except msgspec.ValidationError:
        return None


def larger(provenance: Mapping[str, Any]) -> dict[str, object]:
    """The machine's limits, the larger of the two measured at start and end: other work makes them smaller."""
    ended = provenance.get("ended")
    reported = [provenance.get("limits"), ended.get("limits") if isinstance(ended, Mapping) else None]
    known = [one for one in reported if isinstance(one, Mapping)]
    found: dict[str, object] = dict(known[0]) if known else {}
    for rate, size in (("operations_per_second", "matrix"), ("bytes_per_second", "array_bytes")):
        rated = [one for one in known if isinstance(one.get(rate), int | float) and 0 < one[rate] < math.inf]
        if rated:
            best = max(rated, key=lambda one, rate=rate: one[rate])  # type: ignore[misc]
            found |= {rate: best[rate], size: best.get(size)}
    return found


def work(facts: Facts) -> RooflineWork | None:
    """The work of a cell's model; None where the guest did not report its layers."""
    if facts.layer_shapes is None:
        return None
    counted = flops.count(facts.layer_shapes)
    trains = facts.task != "infer"
    return RooflineWork(
        operations=counted.training if trains else counted.forward,
        layers=facts.layer_shapes,
        inputs=facts.input_shapes,
        trains=trains,
    )


def least_bytes(of: RooflineWork, batch_size: int, cache_bytes: int | None = None) -> float:
    """Bytes that any program must read from or write to memory for one sample.

    The sample itself, and its share of the weights, which every step reads and training writes. Not counted: weights
    that fit into the cache, embeddings (only the rows of the batch's words are needed), and values between layers,
    which may stay in the cache.
    """
    of_sample = BYTES * sum(map(math.prod, of.inputs))
    read = written = 0
    for layer in of.layers:
        if layer.class_name not in ("Embedding", "TokenAndPositionEmbedding"):
            size = BYTES * sum(map(math.prod, layer.weights))
            read += size
            written += size if of.trains and layer.trained else 0
    return of_sample + ((read + written) / batch_size if read > (cache_bytes or 0) else 0)


def percent(of: RooflineWork, batch_size: int, seconds: float, machine: Limits) -> float | None:
    """100 x the least time that this machine needs for a sample / the `seconds` that it took."""
    if not 0 < seconds < math.inf or batch_size < 1:
        return None
    arithmetic = of.operations / machine.operations_per_second
    traffic = least_bytes(of, batch_size, machine.cache_bytes) / machine.bytes_per_second
    return 100 * max(arithmetic, traffic) / seconds
