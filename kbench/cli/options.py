"""Every option of every command, once. An option of a run has the name of its field in `Request`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

from kbench.cli.option_types import duration, inches, mib, packages, ratio, seconds, share, some_of, whole, words
from kbench.comparison.values import ALLOWABLE
from kbench.planning.request import BUDGET, LAST_SEED, PRECISION, Request, Script
from kbench.selection.variants import JIT
from kbench.values import FAILED, TIMEOUT, UNAVAILABLE, UNSUPPORTED

KINDS = ("environments", "data", "compiled", "all")  # what `clean` can remove
EXPORTS = ("parquet", "json", "tensorboard", "mlflow")
_DETAIL = {"dest": "detail", "action": "store_const", "default": "usual"}
RETRIED = (FAILED, TIMEOUT, UNAVAILABLE, UNSUPPORTED)  # what `resume --retry` can measure again


def _choices(field: str) -> dict[str, Any]:
    """The words that a field of a request can have, and its default."""
    words = get_args(get_type_hints(Request)[field])
    return {"choices": words, "default": getattr(Request, field)}


OPTIONS: Mapping[str, Mapping[str, Any]] = {
    # What is measured, and where.
    "--backends": {
        "required": True,
        "metavar": "LIST",
        "help": "names as `list` shows them (short ones where they are clear), a generation such as keras3, native "
        "(frameworks without Keras), or all (all of Keras)",
    },
    "--examples": {"default": "all", "metavar": "LIST", "help": "names, files of your own, or all (default)"},
    "--jit": {
        "type": some_of(JIT),
        "metavar": "LIST",
        "help": "some of on, off, auto: each backend with jit_compile so, in rows of its own",
    },
    "--precision-policy": {
        "type": words,
        "metavar": "LIST",
        "help": "Keras's dtype policies, such as float32,mixed_bfloat16: each backend in each of them",
    },
    "--env-set": {
        "action": "append",
        "metavar": "NAME=VALUE",
        "help": "each backend also with this environment variable; may be given several times",
    },
    "--keras": {"type": words, "metavar": "LIST", "help": "each backend with each of these versions of Keras"},
    "--package of a run": {
        "action": "append",
        "metavar": "NAME=VERSION",
        "help": "each backend also with this version of a package; keras=../keras takes the package from your own "
        "folder, keras=nightly the newest nightly; may be given several times",
    },
    "--device": {
        "default": "auto",
        "metavar": "DEVICE",
        "help": "auto (default: a GPU if there is one), cpu, gpu or gpu:N",
    },
    "--python": {
        "action": "append",
        "default": [],
        "metavar": "BACKEND=PATH[,as-is]",
        "help": "make that backend's environment from this Python; with as-is, use this existing environment "
        "unchanged (conda, a vendor's CUDA stack); may be given several times",
    },
    "--channel": {
        "metavar": "CHANNEL",
        "help": "where conda packages come from if a Python has to be made: a name, an address or a folder (default: "
        "KBENCH_CHANNEL, or conda-forge)",
    },
    # How much is measured.
    "--profile": {
        **_choices("profile"),
        "help": "smoke (seconds per cell), quick (default: a subset of the data, minutes per backend) or full (the "
        "published settings)",
    },
    "--epochs": {"type": whole(1, 10**6), "metavar": "N", "help": "epochs, or passes of inference"},
    "--samples": {"type": whole(1, 10**9), "metavar": "N", "help": "training samples, from the front of the data"},
    "--batch-size": {"type": whole(1, 10**9), "metavar": "N", "help": "samples per step"},
    "--repeats": {
        "type": whole(1, 1000),
        "metavar": "N",
        "help": "measure each cell so many times, each in a new process (default: once, and again where --precision "
        "and --budget say so)",
    },
    "--precision": {
        "type": share,
        "metavar": "P",
        "help": "measure again what is neither shown to differ from the fastest nor known to within this part of its "
        f"time (default: {PRECISION}; not with --repeats or --profile smoke)",
    },
    "--budget": {
        "type": duration,
        "metavar": "TIME",
        "help": f"measure nothing again that would take longer than this with all before it, such as 90s, 10m or 1h "
        f"(default: {BUDGET / 60:.0f}m)",
    },
    "--budget of resume": {
        "type": duration,
        "metavar": "TIME",
        "help": "also measure again what is still open, for this long, such as 90s, 10m or 1h",
    },
    "--interleave": {
        **_choices("interleave"),
        "help": "on (default): the cells of an example run side by side and take turns of up to two seconds, so that "
        "what the machine does meets all of them; off: one cell after the other, as on a GPU",
    },
    "--seed": {
        "type": whole(0, LAST_SEED),
        "metavar": "N",
        "default": Request.seed,
        "help": "of weights and of the order of samples (default: 0)",
    },
    "--seeds": {
        **_choices("seeds"),
        "help": "of the repeats: all the same (default), or N, N+1, ..., alike for all backends",
    },
    "--init": {
        **_choices("init"),
        "help": "initial weights: seeded, the same on every backend (default), or each backend's own",
    },
    "--augment": {"action": "store_true", "help": "augment pictures if the example says how"},
    "--form": {
        "choices": ("right", "default"),
        "help": "how recurrent layers run: in the form that computes the model (right, the default), or in the form "
        "that ships with the backend (default; a script runs so)",
    },
    # An example of the user's.
    "new_file": {"metavar": "NAME", "help": "what the example is called; NAME.py is written"},
    "--like": {
        "default": "basic",
        "metavar": "EXAMPLE",
        "help": "begin with another one: regression, siamese, text_conv1d, autoencoder, generator, two_outputs, "
        "sequence_to_sequence, subclassed, or any that `list` shows (default: basic)",
    },
    # Which release changed something.
    "backend": {"metavar": "BACKEND", "help": "a name as `list` shows it"},
    "--package": {
        "default": "keras",
        "metavar": "NAME",
        "help": "keras (default), or the package of the backend's framework",
    },
    "--good": {"required": True, "metavar": "VERSION", "help": "an earlier release, which is as it should be"},
    "--bad": {"required": True, "metavar": "VERSION", "help": "a later one, which is not"},
    "--example": {"required": True, "metavar": "EXAMPLE", "help": "a name, or a file of your own"},
    "--by": {
        "choices": ("time", "loss"),
        "default": "time",
        "help": "what became worse: the time of an epoch (default), or the loss after the last one",
    },
    "--budget of bisect": {
        "type": duration,
        "metavar": "TIME",
        "default": 120.0,
        "help": "of each comparison of two releases, such as 90s or 10m (default: 2m)",
    },
    # A script of the user's.
    "file": {"metavar": "FILE.py", "help": "a Keras program; its own arguments follow --"},
    "--script": {
        "dest": "file",
        "metavar": "FILE.py",
        "help": "instead of examples: the first model that your own program trains; its own arguments follow --",
    },
    "--init of a script": {
        "choices": get_args(get_type_hints(Request)["init"]),
        "default": "backend",
        "help": "initial weights: each backend's own (default), or seeded: the first model that is trained gets the "
        "same ones on every backend",
    },
    "--seed of a script": {
        "type": whole(0, LAST_SEED),
        "metavar": "N",
        "default": Request.seed,
        "help": "seeds Python, numpy and the backend before the script starts (default: 0)",
    },
    "--workdir": {
        "choices": get_args(get_type_hints(Script)["workdir"]),
        "default": Script.workdir,
        "help": "copy (default): each cell runs in a fresh copy of its folder; same: in the folder itself",
    },
    "--keep-files": {"action": "store_true", "help": "keep the copies, with what it wrote"},
    "--with": {
        "dest": "packages",
        "type": packages,
        "default": (),
        "metavar": "LIST",
        "help": "packages that it needs beside Keras and the backend, such as pandas,scikit-learn; added to those "
        "that it names itself, as PEP 723 has it",
    },
    "--shims": {
        "action": "store_true",
        "help": "serve words of the other generation of Keras, such as lr, fit_generator, np_utils, learning_rate",
    },
    "--max-epochs": {"type": whole(1, 10**6), "metavar": "N", "help": "end each fit after so many epochs"},
    "--max-steps": {"type": whole(1, 10**9), "metavar": "N", "help": "end each epoch of a fit after so many steps"},
    "--explain": {
        "action": "store_true",
        "help": "say why backends differ, by three more runs: data, jit_compile, compiling anew, other results",
    },
    "--show-output": {"action": "store_true", "help": "print each cell's stdout when it has ended"},
    # How a cell runs.
    "--image-data-format": {
        **_choices("image_data_format"),
        "help": "layout of pictures (default: native, the one that each backend is made for)",
    },
    "--threads": {
        "type": whole(1, 4096),
        "metavar": "N",
        "help": "CPU threads of a cell, if the framework supports it (default: as many as cores may be used)",
    },
    "--timeout": {
        "type": seconds,
        "metavar": "SECONDS",
        "help": "end a cell after this time (default: estimated from samples and epochs; parity: 3600)",
    },
    "--timeout of a script": {
        "type": seconds,
        "metavar": "SECONDS",
        "help": "end a cell after this time (default: 3600)",
    },
    "--memory-limit": {
        "dest": "memory_limit_mib",
        "type": mib,
        "metavar": "SIZE",
        "help": "end a cell whose processes together hold more memory, such as 8GiB (default: no limit). "
        "Exceeding it fails only that cell",
    },
    "--pass-env": {
        "action": "append",
        "default": [],
        "metavar": "NAME",
        "help": "also give cells this environment variable. They get PATH, HOME and a short list of others, and none "
        "of your secrets. May be given several times",
    },
    "--data": {
        "dest": "data_source",
        **_choices("data_source"),
        "help": "real (default), or synthetic, which needs no download",
    },
    "--data-dir": {
        "type": Path,
        "metavar": "DIR",
        "help": "a folder with the published files (or set KBENCH_DATA)",
    },
    # Which run, and where.
    "run": {"nargs": "?", "default": "latest", "help": "a run's folder or name (default: the latest)"},
    "runs": {"nargs": "*", "metavar": "run", "help": "a run's folder or name (default: the latest)"},
    "--name": {"metavar": "NAME", "help": "the run's folder below --results (default: the time of day)"},
    "--results": {
        "type": Path,
        "default": Path("results"),
        "metavar": "DIR",
        "help": "where runs are kept (default: ./results)",
    },
    "--no-plots": {
        "dest": "plots",
        "action": "store_false",
        "help": "draw no plots, which saves seconds; `report` draws them later",
    },
    "--dry-run": {"action": "store_true", "help": "say what would be done, and stop"},
    "--retry": {
        "type": some_of(RETRIED),
        "default": (),
        "metavar": "LIST",
        "help": f"also measure cells again that ended as one of {', '.join(RETRIED)}",
    },
    # What is shown.
    "--baseline": {
        "metavar": "BACKEND",
        "help": "compare with this backend of the run, not with the fastest; native: each with its framework alone",
    },
    "--quiet": {**_DETAIL, "const": "quiet", "help": "print the tables alone, neither plan nor progress"},
    "--verbose": {
        **_DETAIL,
        "const": "verbose",
        "help": "print a line for each epoch, with its seconds, loss and accuracy",
    },
    "--format": {
        "choices": ("table", "markdown", "csv", "json"),
        "default": "table",
        "help": "of what is printed (default: table). With another one, stdout holds that alone",
    },
    "--output": {
        "type": Path,
        "metavar": "FILE",
        "help": "where the page of several runs goes (default: report.html in the results folder)",
    },
    "--plot-style": {
        "metavar": "STYLE",
        "help": "a style of matplotlib's, such as grayscale, or an .mplstyle file, laid over the plots' own; "
        "backends keep their colours",
    },
    "--plot-size": {
        "type": inches,
        "metavar": "WIDTHxHEIGHT",
        "help": "of each plot, in inches, such as 3.3x2.5 (default: by content)",
    },
    # Of single commands.
    "what to list": {"nargs": "?", "choices": ("all", "backends", "examples", "published"), "default": "all"},
    "workload": {"nargs": "?", "help": "of published: the example or workload whose figures are shown"},
    "runs to compare": {
        "nargs": "+",
        "metavar": "RUN[:BACKEND]",
        "help": "a run's folder or name, latest, or reference (the run that comes with a checkout); with a backend, "
        "only its rows. All are compared with the first. One run and published: beside figures from the literature",
    },
    "--fail-above": {
        "type": ratio,
        "metavar": "RATIO",
        "help": "exit status 1 if a row became this many times slower than the first, shown by the whole 95 %% "
        "interval of its ratio, or if it was ok and can no longer be compared; for CI",
    },
    "--allow": {
        "type": some_of(ALLOWABLE),
        "metavar": "LIST",
        "default": (),
        "help": "compare although these differ: machine (processor, cores, GPU, device), fingerprint (model, data, "
        "weights, order, optimizer, ...) or both, with a comma. What differs is shown below the table",
    },
    "--to": {
        "type": some_of(EXPORTS),
        "metavar": "LIST",
        "required": True,
        "help": f"some of {', '.join(EXPORTS)}, with commas",
    },
    "--out": {
        "type": Path,
        "metavar": "DIR",
        "help": "where files are written (default: export/ in the run's folder)",
    },
    "what to free": {
        "nargs": "?",
        "choices": KINDS,
        "help": "the kind to remove (default: only show)",
    },
}
