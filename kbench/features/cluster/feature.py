"""Measures on the machines of a Dask cluster, each kind of machine with tables of its own."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from kbench import hooks
from kbench.additions import FurtherOptions
from kbench.records import axes

_FLAG = {"action": "store_true"}
_ON = {
    "metavar": "CLUSTER",
    "help": "measure on the machines of a Dask cluster: tcp://HOST:PORT, tls://HOST:PORT, ssh:HOST,HOST, "
    "slurm:FILE (also pbs, lsf, sge, oar, moab, htcondor) or kubernetes:FILE",
}
_SELECT = {
    "metavar": "WHAT",
    "help": "use only machines with this in the GPU's or processor's name, or with so many cores: gpu=H100, or "
    "cpu=EPYC,cores=16",
}
_TITLE = "on a cluster"


@hooks.fills
def further_options() -> Mapping[str, FurtherOptions]:
    """`--on` and what belongs to it."""
    several = ("--worker-per-machine",) if axes.by_name(axes.WORKERS).asked else ()
    return {
        "run": FurtherOptions(
            _TITLE,
            ("--on", "--spread", "--select", *several),
            {
                "--on": _ON,
                "--spread": {
                    **_FLAG,
                    "help": "measure everything on every kind of machine (default: on any machine)",
                },
                "--select": _SELECT,
                "--worker-per-machine": {
                    **_FLAG,
                    "help": "with --workers 2 or more, each on a machine of its own, of one kind; one after the "
                    "other, as with --interleave off (default: all workers of a cell on one machine)",
                },
            },
        ),
        "coverage": FurtherOptions(_TITLE, ("--on", "--select"), {"--on": _ON, "--select": _SELECT}),
        "resume": FurtherOptions(
            _TITLE, ("--on",), {"--on": {**_ON, "help": "the new address, for a run on a cluster"}}
        ),
    }


@hooks.fills
def instead(options: argparse.Namespace) -> int | None:
    """Measure elsewhere if asked to, and continue and show the runs that were."""
    if options.command not in ("run", "coverage", "resume", "report"):
        return None
    from kbench.features.cluster import command

    return command.instead(options)
