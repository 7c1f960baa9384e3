"""Every option of every command, once. An option of a run has the name of its field in `Request`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

from kbench import axes
from kbench.asked import Asked, Numbers, Words
from kbench.cli.bisect_options import BISECT
from kbench.cli.option_types import (
    column_list,
    duration,
    export_file,
    inches,
    list_of,
    mib,
    ratio,
    seconds,
    seeds,
    share,
    whole,
    wholes,
    word_of,
)
from kbench.cli.script_options import SCRIPT
from kbench.comparison.values import ALLOWABLE
from kbench.coverage.values import ABSENT, CHANGES, CRASHES, DIFFERS, HANGS, RAISES
from kbench.paths import with_home
from kbench.planning.request import BUDGET, LAST_SEED, Request
from kbench.values import FAILED, PRECISION, TIMEOUT, UNAVAILABLE, UNSUPPORTED

KINDS = ("environments", "data", "compiled", "all")  # what `clean` can remove
EXPORTS = ("parquet", "json", "tensorboard", "mlflow")
FAILING = (DIFFERS, RAISES, CRASHES, HANGS, ABSENT)  # what `coverage --fail-on` takes
RETRIED = (FAILED, TIMEOUT, UNAVAILABLE, UNSUPPORTED)  # what `resume --retry` can measure again

# What several options have in common.
_COUNT = {"type": whole(1, 10**9), "metavar": "N"}
_TIME = {"type": duration, "metavar": "TIME"}
_FOLDER = {"type": with_home, "metavar": "DIR"}
_REPEATED = {"action": "append", "default": []}
_FLAG = {"action": "store_true"}
_DETAIL = {"dest": "detail", "action": "store_const", "default": "usual"}


def _choices(field: str, of: type = Request) -> dict[str, Any]:
    """The words that a field of a request can have, and its default."""
    return {"choices": get_args(get_type_hints(of)[field]), "default": getattr(of, field)}


def _one_of(command: str, words: tuple[str, ...]) -> dict[str, Any]:
    """What may stand behind a command."""
    return {"choices": words, "type": word_of(command, words)}


_IN = "in"  # command -> what is otherwise of an option there

# Those of axes are in kbench.axes.
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    # What is measured, and where.
    "--backends": {
        "required": True,
        "metavar": "LIST",
        "help": "names shown by `list` (the part after the slash is enough if it is unique), a generation such as "
        "keras3, native (frameworks without Keras), or all (of Keras)",
    },
    "--examples": {
        "metavar": "LIST",
        "help": "names from `list`, your own files, core (default: those that take minutes), or all; with --suite, "
        "which of its examples",
    },
    "--suite": {
        "metavar": "SUITE",
        "help": "measure a suite: a name from `list suites`, or your own file.toml. Options that you give replace "
        "the suite's; --profile smoke takes only the first of several batch sizes, threads, layouts and data",
    },
    "--python": {
        **_REPEATED,
        "metavar": "BACKEND=PATH[,as-is]",
        "help": "create the backend's environment from this Python. With as-is, use this existing environment "
        "unchanged (such as conda or a vendor's CUDA build); may be repeated",
    },
    "--channel": {
        "metavar": "CHANNEL",
        "help": "conda channel for Pythons that have to be installed: a name, an address or a folder (default: "
        "KBENCH_CHANNEL, or conda-forge)",
    },
    "--on": {
        "metavar": "CLUSTER",
        "help": "measure on the machines of a Dask cluster: tcp://HOST:PORT, tls://HOST:PORT, ssh:HOST,HOST, "
        "slurm:FILE (also pbs, lsf, sge, oar, moab, htcondor) or kubernetes:FILE",
        _IN: {"resume": {"help": "the new address, for a run on a cluster"}},
    },
    "--spread": {**_FLAG, "help": "measure everything on every kind of machine (default: on any machine)"},
    "--select": {
        "metavar": "WHAT",
        "help": "use only machines with this in the GPU's or processor's name, or with so many cores: gpu=H100, or "
        "cpu=EPYC,cores=16",
    },
    "--worker-per-machine": {
        **_FLAG,
        "help": "with --workers 2 or more, each on a machine of its own, of one kind; one after the other, as "
        "with --interleave off (default: all workers of a cell on one machine)",
    },
    # How much is measured.
    "--profile": {
        **_choices("profile"),
        "help": "smoke: seconds per example and backend; quick: a subset of the data, minutes per backend (default); "
        "full: the published settings",
    },
    "--epochs": {**_COUNT, "help": "epochs, or inference passes"},
    "--repeats": {
        "type": whole(1, 1000),
        "metavar": "N",
        "help": "train each example on each backend N times, in new processes (default: once, and short processes "
        "time it as often as --precision and --budget require)",
    },
    "--precision": {
        "type": share,
        "metavar": "P",
        "help": "rows within this share of the fastest are as fast; measure until each is that or slower (default: "
        f"{PRECISION}; not with --repeats or --profile smoke)",
    },
    "--budget": {
        **_TIME,
        "help": f"start no process that would take the run beyond this time, such as 90s, 10m or 1h (default: "
        f"{BUDGET / 60:.0f}m; 1m for a script with --explain)",
        _IN: {
            "resume": {"help": "also measure open rows again, for up to this time, such as 90s, 10m or 1h"},
            "bisect": {
                "default": 120.0,
                "help": "time for each comparison of two releases, such as 90s or 10m (default: 2m)",
            },
        },
    },
    "--interleave": {
        **_choices("interleave"),
        "help": "on (default): the backends of an example take turns of up to two seconds; off: one after the other, "
        "as always on a GPU",
    },
    "--seed": {
        "type": whole(0, LAST_SEED),
        "metavar": "N",
        "default": Request.seed,
        "help": "random seed of weights and sample order; in a script, of Python, numpy and backend (default: 0)",
        _IN: {"coverage": {"help": "random seed of inputs and weights (default: 0)"}},
    },
    "--seeds": {
        "type": seeds,
        "default": Request.seeds,
        "metavar": "SEEDS",
        "help": "same: all repeats use --seed (default); different: each its own; or how many, such as 5: so many "
        "trainings with seeds of their own tell whether scores are lower on one backend",
    },
    "--init": {
        **_choices("init"),
        "help": "initial weights: seeded, the same on every backend (default), or each backend's own",
        _IN: {
            "script": {
                "default": "backend",
                "help": "initial weights: each backend's own (default), or seeded: the first model trained starts "
                "with the same weights on every backend",
            }
        },
    },
    "--augment": {**_FLAG, "help": "augment images in examples that define how"},
    "--form": {
        "choices": ("right", "default"),
        "help": "recurrent layers: right, in the form that computes the model correctly (default), or default, as "
        "the backend ships them (always for a script)",
    },
    # Of `coverage`.
    "--only": {
        "default": "",
        "metavar": "PATTERNS",
        "help": "try only the public names like these, such as 'layers.Conv*,optimizers.*' (default: all)",
    },
    "--quick": {**_FLAG, "help": "try each name once, with what it has to be given, and no training"},
    "--fail-on": {
        "type": list_of(FAILING),
        "default": (),
        "metavar": "LIST",
        "help": f"exit status 1 if a name is one of {', '.join(FAILING)}",
        _IN: {
            "compare": {
                "type": list_of(CHANGES),
                "help": f"of coverage runs: exit status 1 if a name is one of {', '.join(CHANGES)}",
            }
        },
    },
    # An example of the user's.
    "new_file": {"metavar": "NAME", "help": "name of the example; writes NAME.py"},
    "--like": {
        "default": "basic",
        "metavar": "EXAMPLE",
        "help": "example to start from: basic (default), regression, siamese, text_conv1d, autoencoder, generator, "
        "two_outputs, sequence_to_sequence, subclassed, or any that `list` shows",
    },
    **BISECT,
    **SCRIPT,
    "--explain": {
        **_FLAG,
        "help": "find out why backends differ, with extra runs: times of each layer and the optimizer; for a script "
        "also input data, copies to the device, jit_compile, run_eagerly, results",
    },
    "--trace": {
        **_FLAG,
        "help": "after the measurement, trace 8 steps with each framework's profiler: a file for Perfetto "
        "(ui.perfetto.dev) in the cell's folder, and tables of the slowest operations",
    },
    "--show-output": {**_FLAG, "help": "print each cell's stdout when the cell ends"},
    # How a cell runs.
    "--timeout": {
        "type": seconds,
        "metavar": "TIME",
        "help": "stop a cell (one measurement) after this time, in seconds or such as 10m (default: estimated from "
        "samples and epochs; scripts and parity: 1h)",
        _IN: {"coverage": {"help": "stop a process after this time, in seconds or such as 10m (default: 1h)"}},
    },
    "--memory-limit": {
        "dest": "memory_limit_mib",
        "type": mib,
        "metavar": "SIZE",
        "help": "stop a cell that uses more memory than this, such as 8GiB; only that cell fails (default: no limit)",
        _IN: {
            "coverage": {
                "help": "end a process that uses more memory than this, such as 8GiB: its case crashes, and the next "
                "ones go on (default: half of what is free, shared among those side by side)"
            }
        },
    },
    "--pass-env": {
        **_REPEATED,
        "metavar": "NAME",
        "help": "also pass this environment variable to cells, which get only PATH, HOME and a few others; may be "
        "repeated",
    },
    "--data": {
        "dest": "data_source",
        "choices": get_args(get_type_hints(Request)["data_source"]),
        "help": "auto (default): real data if they can be had, else synthetic data; real: an error without them; "
        "synthetic: downloads nothing",
    },
    "--data-dir": {**_FOLDER, "help": "folder with the published data files (default: KBENCH_DATA)"},
    # Which run, and where.
    "run": {
        "nargs": "?",
        "default": "latest",
        "help": "a run's name, folder or packed file (default: the latest)",
        _IN: {"unpack": {"nargs": None, "default": None, "help": "a packed run's name or file"}},
    },
    "runs": {
        _IN: {
            "report": {
                "nargs": "*",
                "metavar": "run",
                "help": "a run's name, folder or packed file (default: the latest)",
            },
            "compare": {
                "nargs": "+",
                "metavar": "RUN[:BACKEND]",
                "help": "a run's name, folder or packed file, latest, or reference (the run that comes with a "
                "checkout); with :BACKEND, only its rows. All are compared with the first. `RUN published` compares "
                "with the literature",
            },
        }
    },
    "--name": {"metavar": "NAME", "help": "name of the run's folder in --results (default: the current time)"},
    "--results": {**_FOLDER, "default": Path("results"), "help": "folder of all runs (default: ./results)"},
    "--no-plots": {
        "dest": "plots",
        "action": "store_false",
        "help": "draw no plots; earlier ones stay, and `report` draws them later",
    },
    "--dry-run": {**_FLAG, "help": "print the plan and stop"},
    "--retry": {
        "type": list_of(RETRIED),
        "default": (),
        "metavar": "LIST",
        "help": f"also repeat cells with one of these statuses: {', '.join(RETRIED)}",
    },
    # What is shown.
    "--baseline": {
        "metavar": "BACKEND",
        "help": "compare with this backend instead of the fastest; native: each with its framework without Keras",
    },
    "--quiet": {**_DETAIL, "const": "quiet", "help": "print only the final tables"},
    "--verbose": {
        **_DETAIL,
        "const": "verbose",
        "help": "print a line per epoch, and the tables of all examples; without it those of one or two",
        _IN: {"report": {"help": "print the tables of more than two examples, too"}},
    },
    "--format": {
        "choices": ("table", "markdown", "csv", "json"),
        "default": "table",
        "help": "output format (default: table); with any other, stdout holds nothing else",
    },
    "--export": {
        "type": export_file,
        "action": "append",
        "default": [],
        "metavar": "FILE",
        "help": "also write the tables to this file: .md (Markdown), .csv or .json; may be repeated",
    },
    "--columns": {
        "type": column_list,
        "default": (),
        "metavar": "LIST",
        "help": "show only these columns, such as backend,s/epoch,verdict; also any of summary.csv, such as "
        "peak_memory_mib",
    },
    "--sort": {
        "metavar": "COLUMN",
        "help": "sort the rows of each example by this column, such as s/epoch; --sort=-s/epoch: the largest first",
    },
    "--output": {
        "type": with_home,
        "metavar": "FILE",
        "help": "page to write for several runs (default: report.html in the results folder)",
    },
    "--plot-style": {
        "metavar": "STYLE",
        "help": "matplotlib style, such as grayscale, or an .mplstyle file; backends keep their colours",
    },
    "--plot-size": {
        "type": inches,
        "metavar": "WIDTHxHEIGHT",
        "help": "size of each plot in inches, such as 3.3x2.5 (default: by content)",
    },
    # Of single commands.
    "--variables": {
        **_FLAG,
        "help": "print the environment variables that make backends faster, to copy them",
    },
    "what": {
        "nargs": "?",
        _IN: {
            "list": {
                **_one_of("list", ("all", "backends", "examples", "suites", "published", "runs")),
                "default": "all",
            },
            "clean": {**_one_of("clean", KINDS), "help": "what to remove (default: nothing, only list)"},
        },
    },
    "workload": {"nargs": "?", "help": "with published: only the figures of this workload"},
    "--fail-above": {
        "type": ratio,
        "metavar": "RATIO",
        "help": "for CI: exit status 1 if the whole 95 %% interval of a row's ratio to the first run exceeds this "
        "or a row that was ok can no longer be compared",
    },
    "--allow": {
        "type": list_of(ALLOWABLE),
        "metavar": "LIST",
        "default": (),
        "help": "compare rows although these differ: machine (processor, cores, GPU, device), fingerprint (model, "
        "data, weights, order, optimizer, ...) or both. The differences are listed below the table",
    },
    "--to": {
        "type": list_of(EXPORTS, {"csv": "a run's folder has summary.csv and epochs.csv already"}),
        "metavar": "LIST",
        "required": True,
        "help": f"formats to write: some of {', '.join(EXPORTS)}",
    },
    "--out": {
        **_FOLDER,
        "help": "folder to write to (default: export/ in the run's folder)",
        _IN: {"pack": {"help": "folder to write to (default: beside the run's folder)"}},
    },
}


def how(option: str, command: str) -> dict[str, Any]:
    """What argparse has to know of an option of a command."""
    for _, asked in axes.asked_by(command):
        if asked.option == option:
            return _of_axis(asked, command)
    declared = OPTIONS[option]
    found = {name: value for name, value in declared.items() if name != _IN}
    return {**found, **declared.get(_IN, {}).get(command, {})}


def _of_axis(asked: Asked, command: str) -> dict[str, Any]:
    single = command in asked.single
    found: dict[str, Any] = {"dest": asked.dest, "metavar": asked.metavar, "default": asked.default}
    help_text = asked.help_of.get(command, asked.help)
    found["help"] = "; ".join(filter(None, (help_text, "" if single else asked.several)))
    match asked.takes:
        case Numbers(lowest, highest, words):
            found["type"] = wholes(lowest, highest, *(() if single else words))
            found["metavar"] = "N" if single else asked.metavar
        case Words(words):
            found["type"] = list_of(words)
    return found | (_REPEATED if asked.repeated else {})
