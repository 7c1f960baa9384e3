"""The results of a comparison of runs: small frozen values for its tables."""

from __future__ import annotations

from dataclasses import dataclass

from kbench.records.values import Interval
from kbench.summary import Summary

# What prevents a comparison of two rows, unless the user allows it.
MACHINE = "machine"
FINGERPRINT = "fingerprint"
ALLOWABLE = (MACHINE, FINGERPRINT)

HIGHER = "higher"
LOWER = "lower"
WITHIN = "within the spread"
EQUAL = "equal"


@dataclass(frozen=True)
class About:
    """One of the sides of a comparison, for its legend."""

    letter: str  # "A", "B", ...
    name: str  # what the user typed
    machine: str  # one phrase
    created: str  # UTC, ISO 8601
    kbench: str  # version, and commit where it is known


@dataclass(frozen=True)
class Pair:
    """A row of the first side beside the matching row of another side. Ratios are other / first."""

    side: str  # the other side's letter
    first: Summary | None  # None where only the other side has it
    other: Summary | None  # None where only the first side has it
    refused: tuple[str, ...] = ()  # why they are not compared, in words
    kinds: tuple[str, ...] = ()  # of ALLOWABLE: what would have to be allowed
    other_data: str = ""  # if one has real data and the other has not, which is never allowed: in words
    remarks: tuple[str, ...] = ()  # differences that do not prevent the comparison
    ratio: float | None = None  # of the steady times
    interval: Interval | None = None
    verdict: str = ""  # FASTER, SLOWER, NO_DIFFERENCE, NOT_COMPARED; empty where one side lacks the row
    accuracy: str = ""  # HIGHER, LOWER, WITHIN, EQUAL: the final validation accuracy; empty where no spread is known
    target_ratio: float | None = None  # of the seconds to the example's target accuracy
    target_interval: Interval | None = None
    target_verdict: str = ""
    largest_loss_difference: float | None = None  # over all epochs of matching repeats; None where there are none
    compared_epochs: int = 0  # whose losses were compared

    @property
    def row(self) -> Summary:
        """The row's own name and settings: the first side's where it has it."""
        found = self.first or self.other
        assert found is not None, "a pair has a row on one side at least"
        return found
