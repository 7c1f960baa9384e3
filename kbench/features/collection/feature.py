"""A collection of packed runs of many machines: what a run must be to be admitted, and a site made of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kbench import hooks
from kbench.additions import Command
from kbench.base.paths import with_home

_HERE = Path(__file__).parent
_FOLDER: Mapping[str, Any] = {"type": with_home, "metavar": "COLLECTION"}


@hooks.fills
def commands() -> Mapping[str, Command]:
    """`admit` and `site`."""
    return {
        "admit": Command(
            "Say whether a packed run may be in a collection: whether it contradicts itself, the other runs there, "
            "or what is computed again here. If it may, it is copied there.",
            "check a packed run for a collection, with reasons",
            "kbench.features.collection.admit",
            _HERE / "admit.txt",
            options=("pack", "--to", "--replay", "--check", "--results"),
            declared={
                "pack": {"metavar": "PACK", "help": "a packed run's name or file"},
                "--to": {**_FOLDER, "required": True, "help": "the collection's folder, with its collection.toml"},
                "--replay": {
                    "type": int,
                    "metavar": "N",
                    "default": 0,
                    "help": "compute one epoch of N cells again here, chosen by chance among those whose backend and "
                    "example are at hand, and compare work and losses",
                },
                "--check": {"action": "store_true", "help": "only say so: copy nothing"},
            },
        ),
        "site": Command(
            "Make pages of a collection: which backend is fastest on which processor for which kind of model, with "
            "the runs behind each number and what they were checked for.",
            "make pages of a collection of runs",
            "kbench.features.collection.site",
            _HERE / "site.txt",
            options=("collection", "out"),
            declared={
                "collection": {**_FOLDER, "help": "the collection's folder"},
                "out": {**_FOLDER, "metavar": "OUT", "help": "folder to write to"},
            },
        ),
    }
