"""The examples of `--suite`, with what is left of it by the other options and this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kbench.additions import ChosenExamples
from kbench.features.published import suites
from kbench.planning.request import cores
from kbench.records.values import Device
from kbench.selection.known import known_examples

# What a suite says of its examples, where the user does not.
_OF_SUITE = ("batch_size", "workers", "threads", "image_data_format", "task", "data_source")


def examples(options: Mapping[str, Any], on: Sequence[Device]) -> ChosenExamples:
    """Those of the suite, or of them those that the user named. Raises UserError."""
    path, file = suites.find(options["suite"])
    chosen = suites.chosen_examples(path, file, known_examples(), options["examples"])
    typed = {"data" if name == "data_source" else name for name in _OF_SUITE if options.get(name) is not None}
    typed |= {"steps"} if options["samples"] is not None else set()
    suite = suites.resolved(
        path,
        file,
        chosen,
        typed=typed,
        on_gpu=all(one.kind == suites.GPU for one in on),
        smoke=options["profile"] == "smoke",
        cores=max(cores()),
    )
    named = frozenset(options["examples"].split(",") if options["examples"] else ())
    return ChosenExamples(chosen, named, suite.settings, {"suite": suites.kept(suite)})
