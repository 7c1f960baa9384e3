"""Which weights of a twin are trained."""

from __future__ import annotations

from pathlib import Path

from guest_modules import guest


def test_moving_averages_are_not_trained(tmp_path: Path) -> None:
    with guest(tmp_path, "kbench_parity.twins") as (twins,):
        roles = twins.roles(["gamma", "beta", "moving_mean", "moving_variance"])
    assert [(one["name"], one["trained"]) for one in roles] == [
        ("gamma", True),
        ("beta", True),
        ("moving_mean", False),
        ("moving_variance", False),
    ]
