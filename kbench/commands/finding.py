"""The result of one of `doctor`'s checks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DoctorFinding:
    """What was looked at, what was found, and what to do."""

    what: str
    found: str
    advice: str = ""  # what to type; empty if it is fine
    hinders: bool = False  # whether a backend cannot be measured here, though there is nothing to do
    synthetic: bool = False  # whether an example would get synthetic data
