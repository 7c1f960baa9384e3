"""Which machines of a cluster may measure, and which are of one kind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kbench.errors import UserError
from kbench.features.cluster import machines
from kbench.features.cluster.messages import Machine

MINE = Machine(
    kbench="1.0", guest_sha256="ab", python="3.12", processor="AMD EPYC 7742", cores="16", gpus="NVIDIA H100"
)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, ""),
        ({"kbench": "0.9"}, "it has kbench 0.9, and this is 1.0"),
        ({"guest_sha256": "cd"}, "its kbench 1.0 has other code than this one"),
        ({"python": "3.11"}, "it runs kbench with Python 3.11, and this is 3.12"),
        ({"processor": "another", "cores": "2", "gpus": "none"}, ""),
    ],
)
def test_another_kbench_or_python_is_said(changes: dict[str, str], says: str) -> None:
    assert machines.different(replace(MINE, **changes), MINE) == says


@pytest.mark.parametrize(
    ("select", "chosen"),
    [
        ("", True), ("gpu=h100", True), ("gpu=A100", False), ("cpu=EPYC,cores=16", True), ("cores=1", False),
        ("gpu=H100, cpu=Xeon", False),
    ],
)  # fmt: skip
def test_machines_are_chosen_by_what_they_have(select: str, chosen: bool) -> None:
    assert machines.selected(MINE, machines.selection(select)) is chosen


@pytest.mark.parametrize("select", ["color=red", "gpu", "gpu=", "=H100"])
def test_a_wrong_selection_is_one_sentence(select: str) -> None:
    with pytest.raises(UserError, match=r"give gpu=\.\.\., cpu=\.\.\., cores=\.\.\., such as gpu=H100"):
        machines.selection(select)


def test_machines_of_one_kind_share_a_folder() -> None:
    assert machines.slug(MINE) == machines.slug(replace(MINE, kbench="2")) == "amd-epyc-7742-16-cores-nvidia-h100"
    assert machines.slug(replace(MINE, gpus="none", cores="1")) == "amd-epyc-7742-1-core"
