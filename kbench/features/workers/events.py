"""What a guest tells of each of its workers, epoch by epoch."""

from __future__ import annotations

from collections.abc import Sequence

from kbench.records.epochs import Count, Mib, Seconds
from kbench.records.reported import Facts, FeatureEvent


class WorkerEpoch(FeatureEvent, frozen=True, tag="worker"):
    """What one of several workers did in an epoch."""

    epoch: Count
    rank: Count
    samples: Count
    batch_size: Count | None = None
    read: str | None = None  # a sum of hashes of the samples that it read, modulo 2**64, in hexadecimal digits
    read_of_all: str | None = None  # the same of the whole epoch, as one worker reads it
    loss: float | None = None  # of its own samples
    communication_seconds: Seconds | None = None
    peak_mib: Mib | None = None  # of its memory so far


def told(facts: Facts) -> Sequence[WorkerEpoch]:
    """All of a cell's, in the order of epochs."""
    found: dict[tuple[int, int], WorkerEpoch] = facts.of.get("worker", {})
    return [found[place] for place in sorted(found)]
