"""Tells how runs went over releases of Keras and frameworks and over dates, and where a step is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbench import hooks
from kbench.additions import Command
from kbench.base.paths import with_home
from kbench.cli.groups import MORE
from kbench.cli.option_types import list_of
from kbench.features.history.values import FAILING
from kbench.records import axes

if TYPE_CHECKING:
    from kbench.planning.plan import Plan

_HERE = Path(__file__).parent


@hooks.fills
def commands() -> Mapping[str, Command]:
    """`history` and `releases`."""
    return {
        "history": Command(
            "Tell how runs went over releases of Keras and of frameworks, and over dates: time, loss, memory, and "
            "which public names work. Each step has the two versions between which it is, how much, and how sure.",
            "how runs went over releases and dates: which version made what slower",
            "kbench.features.history.command",
            _HERE / "history.txt",
            options=("runs", "--fail-on", "--page", "--format", "--results"),
            declared={
                "runs": {
                    "nargs": "+",
                    "metavar": "RUNS",
                    "help": "runs by name, folder or packed file, or folders of runs",
                },
                "--fail-on": {
                    "type": list_of(FAILING),
                    "default": (),
                    "metavar": "LIST",
                    "help": f"for CI: exit status 1 if there is a step of these: {', '.join(FAILING)}",
                },
                "--page": {
                    "type": with_home,
                    "metavar": "FILE",
                    "help": "also write a page with charts, as FILE.html",
                },
            },
        ),
        "releases": Command(
            "Measure the releases of Keras or of a backend's framework that ./results lacks for a history: at first "
            "a few, then those where a step is likely. Several take turns in each run.",
            "measure an example on many releases of Keras or a framework, for `history`",
            "kbench.features.history.releases",
            _HERE / "releases.txt",
            options=(
                "backend", "--package", "--from", "--to", "--example", "--profile", "--budget", MORE, "--results",
            ),
            declared={
                "backend": {"metavar": "BACKEND", "help": "a backend as `list` names it"},
                "--package": {
                    "default": "keras",
                    "metavar": "NAME",
                    "help": "keras (default), or the backend's framework",
                },
                "--from": {"required": True, "metavar": "VERSION", "help": "the oldest release"},
                "--to": {"required": True, "metavar": "VERSION", "help": "the newest release"},
                "--example": {
                    "required": True,
                    "metavar": "LIST",
                    "help": "names from `list`, or your own files",
                },
                "--budget": {
                    "default": 3600.0,
                    "help": "begin no further run that would end later than this, such as 40m (default: 1h)",
                },
            },
            axes={axes.THREADS: ""},
        ),
    }  # fmt: skip


@hooks.fills
def of_machine(plan: Plan, earlier: Mapping[str, Any]) -> Mapping[str, Any]:
    """The processor's microcode, which may change its speed."""
    from kbench.features.history import reading

    return reading.microcode()
