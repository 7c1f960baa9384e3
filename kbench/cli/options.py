"""Every option of every command, once. An option of a run has the name of its field in `Request`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

from kbench import hooks
from kbench.base.paths import with_home
from kbench.cli.option_types import (
    column_list,
    duration,
    inches,
    list_of,
    mib,
    seconds,
    seeds,
    share,
    whole,
    wholes,
    word_of,
)
from kbench.errors import UserError
from kbench.planning.request import BUDGET, LAST_SEED, Request
from kbench.records import axes
from kbench.records.asked import Asked, Numbers, Words
from kbench.records.axes import Axis
from kbench.records.values import FAILED, PRECISION, TIMEOUT, UNAVAILABLE, UNSUPPORTED

KINDS = ("environments", "data", "compiled", "all")  # what `clean` can remove
RETRIED = (FAILED, TIMEOUT, UNAVAILABLE, UNSUPPORTED)  # what `resume --retry` can measure again

# What several options have in common.
_COUNT = {"type": whole(1, 10**9), "metavar": "N"}
_TIME = {"type": duration, "metavar": "TIME"}
_FOLDER = {"type": with_home, "metavar": "DIR"}
_REPEATED = {"action": "append", "default": []}
_FLAG = {"action": "store_true"}


def _choices(field: str, of: type = Request) -> dict[str, Any]:
    """The words that a field of a request can have, and its default."""
    return {"choices": get_args(get_type_hints(of)[field]), "default": getattr(of, field)}


def _one_of(command: str, words: tuple[str, ...]) -> dict[str, Any]:
    """What may stand behind a command."""
    return {"choices": words, "type": word_of(command, words)}


_IN = "in"  # command -> what is otherwise of an option there

# Those of axes are in kbench.records.axes.
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
        "help": "names from `list`, your own files, core (default: the seven that take minutes), or all",
    },
    "--python": {
        **_REPEATED,
        "metavar": "BACKEND=PATH[,as-is]",
        "help": "create the backend's environment from this Python. With as-is, use this existing environment "
        "unchanged (such as conda or a vendor's CUDA build); may be repeated",
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
        f"{BUDGET / 60:.0f}m)",
        _IN: {
            "resume": {"help": "also measure open rows again, for up to this time, such as 90s, 10m or 1h"},
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
    },
    "--seeds": {
        "type": seeds,
        "default": Request.seeds,
        "metavar": "SEEDS",
        "help": "same: all repeats use --seed (default); different: each its own; or how many, such as 5: so many "
        "trainings with seeds of their own tell whether scores are lower on one backend",
    },
    "--augment": {**_FLAG, "help": "augment images in examples that define how"},
    # An example of the user's.
    "new_file": {"metavar": "NAME", "help": "name of the example; writes NAME.py"},
    "--like": {
        "default": "basic",
        "metavar": "EXAMPLE",
        "help": "example to start from: basic (default), regression, siamese, text_conv1d, autoencoder, generator, "
        "two_outputs, sequence_to_sequence, subclassed, or any that `list` shows",
    },
    # How a cell runs.
    "--timeout": {
        "type": seconds,
        "metavar": "TIME",
        "help": "stop a cell (one measurement) after this time, in seconds or such as 10m (default: estimated from "
        "samples and epochs; scripts: 1h)",
    },
    "--memory-limit": {
        "dest": "memory_limit_mib",
        "type": mib,
        "metavar": "SIZE",
        "help": "stop a cell that uses more memory than this, such as 8GiB; only that cell fails (default: no limit)",
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
    # Which run, and where.
    "run": {
        "nargs": "?",
        "default": "latest",
        "help": "a run's name, folder or packed file (default: the latest)",
    },
    "runs": {"nargs": "*", "metavar": "run", "help": "a run's name, folder or packed file (default: the latest)"},
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
    "--verbose": {
        **_FLAG,
        "help": "print a line per epoch, and the tables of all examples; without it those of one or two",
        _IN: {"report": {"help": "print the tables of more than two examples, too"}},
    },
    "--format": {
        "choices": ("table", "markdown", "csv", "json"),
        "default": "table",
        "help": "output format (default: table); with any other, stdout holds nothing else",
    },
    "--columns": {
        "type": column_list,
        "default": (),
        "metavar": "LIST",
        "help": "show only these columns, such as backend,s/epoch,verdict; also any of summary.csv, such as "
        "peak_memory_mib",
    },
    "--output": {
        "type": with_home,
        "metavar": "FILE",
        "help": "page to write for several runs (default: report.html in the results folder)",
    },
    "--plot-style": {
        "metavar": "STYLE",
        "help": "paper (PDFs without title and footer, for a column of a journal), a style of matplotlib's, such as "
        "grayscale, or an .mplstyle file; backends keep their colours",
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
                **_one_of("list", ("all", "backends", "examples", "runs", "features")),
                "default": "all",
            },
            "clean": {**_one_of("clean", KINDS), "help": "what to remove (default: nothing, only list)"},
        },
    },
}


def how(option: str, command: str) -> dict[str, Any]:
    """What argparse has to know of an option of a command."""
    for _, asked in asked_by(command):
        if asked.option == option:
            return _of_axis(asked, command)
    of_feature = {**hooks.commands()[command].declared} if command in hooks.commands() else {}
    added = hooks.further_options(command)
    for further in added:
        of_feature |= further.declared
    declared = OPTIONS.get(option, {})
    found = {name: value for name, value in declared.items() if name != _IN}
    found |= {**declared.get(_IN, {}).get(command, {}), **of_feature.get(option, {})}
    if not declared and option not in of_feature:
        raise UserError(f"The command {command} of a feature has the option {option}, which it declares nowhere.")
    if words := [word for further in added for word in further.choices.get(option, ())]:
        found |= _one_of(command, (*found["choices"], *words))
    return found


def asked_by(command: str) -> list[tuple[Axis, Asked]]:
    """The axes whose values a command takes, with how it asks for them."""
    of_feature = hooks.commands().get(command)
    known = [(axis, axis.asked) for axis in axes.every() if axis.asked]
    if of_feature is None:
        return [(axis, asked) for axis, asked in known if command in (*asked.commands, *asked.single)]
    found = []
    for axis, asked in known:
        if axis.name in of_feature.axes:
            words = of_feature.axes[axis.name]
            single = (*asked.single, command)
            found.append((axis, replace(asked, single=single, help_of={command: words} if words else {})))
        elif axis.name in of_feature.several:
            found.append((axis, asked))
    return found


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
