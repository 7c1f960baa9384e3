"""The command line: commands, options and their help."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from kbench import __version__
from kbench.cli import option_types
from kbench.comparison.values import ALLOWABLE
from kbench.errors import UserError
from kbench.planning.plan import DIFFERENT, FORMATS, LAST_SEED, PROFILES, SAME
from kbench.values import FAILED, TIMEOUT, UNAVAILABLE, UNSUPPORTED

COMMANDS = ("run", "resume", "list", "setup", "report", "compare", "export", "parity", "doctor", "clean")
EXPORTS = ("parquet", "json", "tensorboard", "mlflow")
KINDS = ("environments", "data", "compiled", "all")  # of what `clean` can free
OUTPUTS = ("table", "markdown", "csv", "json")
RETRIED = (FAILED, TIMEOUT, UNAVAILABLE, UNSUPPORTED)  # what `resume --retry` can measure again


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are UserErrors: one sentence, no usage text."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message[0].upper()}{message[1:]}; see `{self.prog} --help`.")


def program() -> str:
    """How the user calls kbench: `run.py` or `kbench`."""
    name = Path(sys.argv[0]).name
    return "python run.py" if name == "run.py" else "kbench" if name != "__main__.py" else "python -m kbench"


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The options of a command; `run` where none is named. Raises UserError."""
    arguments = list(argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        overview = Parser(
            prog=program(),
            usage="%(prog)s [COMMAND] [OPTIONS]",
            description=_text("overview"),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        _version(overview)
        if not arguments:
            raise UserError(f"Name the backends to measure with --backends; see `{program()} --help`.")
        overview.print_help()
        raise SystemExit(0)
    command = arguments.pop(0) if arguments[0] in COMMANDS else ""
    if not command and not arguments[0].startswith("-"):
        raise UserError(f"There is no command {arguments[0]!r}: choose from {', '.join(COMMANDS)}.")
    parser = Parser(prog=f"{program()} {command}".strip(), formatter_class=argparse.RawDescriptionHelpFormatter)
    _version(parser)
    parser.epilog = _text(command or "run")
    _OPTIONS[command or "run"](parser)
    options = parser.parse_args(arguments)
    options.command = command or "run"
    options.argv = list(argv)
    return options


def _text(name: str) -> str:
    """Help that names backends: it lies in a file, since code names none."""
    return (Path(__file__).parent / "help" / f"{name}.txt").read_text("utf-8")


def _version(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--version", action="version", version=f"kbench {__version__}")


def _run(parser: argparse.ArgumentParser) -> None:
    parser.description = "Measure examples on backends, and tabulate seconds per epoch and convergence."
    _selection(parser)
    _examples(parser)
    parser.add_argument(
        "--profile",
        choices=PROFILES,
        default="quick",
        help="how much is run: smoke (seconds a cell), quick (the default: a subset of the data, minutes a "
        "backend) or full (the published settings)",
    )
    counts = parser.add_argument_group("instead of the profile's and the example's numbers")
    counts.add_argument(
        "--epochs", type=option_types.whole(1, 10**6), metavar="N", help="epochs, or passes of inference"
    )
    counts.add_argument(
        "--samples",
        type=option_types.whole(1, 10**9),
        metavar="N",
        help="training samples, from the front of the data",
    )
    counts.add_argument("--batch-size", type=option_types.whole(1, 10**9), metavar="N", help="samples a step")
    counts.add_argument(
        "--repeats", type=option_types.whole(1, 1000), metavar="N", default=1, help="fresh processes a cell (1)"
    )
    _seed(counts)
    counts.add_argument(
        "--seeds",
        choices=(SAME, DIFFERENT),
        default=SAME,
        help="of the repeats: all the same (the default), or N, N+1, ... alike for all backends",
    )
    counts.add_argument(
        "--init",
        choices=("seeded", "backend"),
        default="seeded",
        help="initial weights: seeded, alike on every backend (the default), or each backend's own",
    )
    counts.add_argument("--augment", action="store_true", help="augment pictures where an example says how")
    _layout_timeout_and_data(parser, "as its samples and epochs let expect")
    _baseline(parser)
    parser.add_argument("--name", metavar="NAME", help="the run's folder below --results (the time of day)")
    parser.add_argument("--dry-run", action="store_true", help="print the plan and stop")
    _detail(parser)
    _plots(parser)
    _format(parser)
    _results(parser)


def _parity(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Compare what backends compute on one batch, from the same weights and with dropout off: the outputs of the "
        "model and of each layer, the loss, and the weights after 1 and after 10 steps."
    )
    _selection(parser)
    _examples(parser)
    parser.add_argument("--batch-size", type=option_types.whole(1, 10**9), metavar="N", help="samples in the batch")
    _seed(parser)
    parser.add_argument(
        "--form",
        choices=("right", "default"),
        default="right",
        help="how recurrent layers run: in the form that computes the model (right, the default), or in the one that "
        "ships, to see what that computes (default)",
    )
    _layout_timeout_and_data(parser, "3600")
    parser.add_argument("--name", metavar="NAME", help="the run's folder below --results (the time of day)")
    _format(parser)
    _results(parser)


def _list(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show backends and examples: what each is and can do, and whether it is installed; or what others published."
    )
    parser.add_argument("what", nargs="?", choices=("all", "backends", "examples", "published"), default="all")
    parser.add_argument("workload", nargs="?", help="of published: the example or workload whose figures are shown")
    _format(parser)
    _python(parser)


def _setup(parser: argparse.ArgumentParser) -> None:
    parser.description = "Make the backends' environments, or find that they are there, and measure nothing."
    _selection(parser)


def _report(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Make the tables, plots and pages of a run anew from what was measured, and print the tables; "
        "or put several runs on one page."
    )
    parser.add_argument("runs", nargs="*", metavar="run", help="a run's folder or name (the latest)")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="where the page of several runs goes (report.html in the results folder)",
    )
    parser.add_argument(
        "--plot-style",
        metavar="STYLE",
        help="a style of matplotlib's, such as grayscale, or an .mplstyle file, laid over the plots' own; backends "
        "keep their colours",
    )
    parser.add_argument(
        "--plot-size",
        type=option_types.inches,
        metavar="WIDTHxHEIGHT",
        help="of each plot, in inches, such as 3.3x2.5 (as its content asks for)",
    )
    _plots(parser)
    _baseline(parser)
    _format(parser)
    _results(parser)


def _resume(parser: argparse.ArgumentParser) -> None:
    parser.description = "Go on with a run: measure the cells that have no finished outcome, or whose files changed."
    parser.add_argument("run", nargs="?", default="latest", help="a run's folder or name (the latest)")
    parser.add_argument(
        "--retry",
        type=option_types.some_of(RETRIED),
        default=(),
        metavar="LIST",
        help=f"measure cells that ended so again: some of {', '.join(RETRIED)}",
    )
    _detail(parser)
    _plots(parser)
    _format(parser)
    _results(parser)


def _compare(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Put runs beside one another: for each example and backend the steady times, their ratio with its 95 % "
        "interval and what that shows, final accuracy, time to accuracy, and whether the losses are the same."
    )
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN[:BACKEND]",
        help="a run's folder or name, latest, or reference (the run that comes with a checkout); with a backend, its "
        "rows alone. All are compared with the first. One run and published: beside figures from the literature",
    )
    parser.add_argument(
        "--fail-above",
        type=option_types.ratio,
        metavar="RATIO",
        help="exit status 1 where a row became slower than so many times the first, shown by the whole 95 %% "
        "interval of its ratio, or was ok and can no longer be compared; for CI",
    )
    parser.add_argument(
        "--allow",
        type=option_types.some_of(ALLOWABLE),
        metavar="LIST",
        default=(),
        help="compare in spite of what differs: machine (processor, cores, GPU, device), fingerprint (model, data, "
        "weights, order, optimizer, ...) or both, with a comma; what differs stands below the table",
    )
    _format(parser)
    _results(parser)


def _export(parser: argparse.ArgumentParser) -> None:
    parser.description = "Write a run's data for other programs."
    parser.add_argument("run", nargs="?", default="latest", help="a run's folder or name (the latest)")
    parser.add_argument(
        "--to",
        type=option_types.some_of(EXPORTS),
        metavar="LIST",
        required=True,
        help=f"some of {', '.join(EXPORTS)}, with commas",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where files are written (export/ in the run's folder)"
    )
    _results(parser)


def _doctor(parser: argparse.ArgumentParser) -> None:
    parser.description = "Check this machine: Pythons, compilers, GPU, disk, environments, data. Makes nothing."
    parser.add_argument(
        "--data-dir", type=Path, metavar="DIR", help="a folder with the published files (or set KBENCH_DATA)"
    )
    parser.add_argument("--device", default="auto", metavar="DEVICE", help="auto, cpu, gpu or gpu:N")
    _python(parser)


def _clean(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show what lies in kbench's cache folder and free it: what no run takes any more, or all of a kind. Results "
        "are never touched, nor what a running kbench needs."
    )
    parser.add_argument("what", nargs="?", choices=KINDS, help="all of that kind (only what is no longer used)")
    parser.add_argument("--dry-run", action="store_true", help="say what would be freed, and free nothing")


def _selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backends",
        required=True,
        metavar="LIST",
        help="names as `list` shows them, bare where that is clear, a generation, or all",
    )
    parser.add_argument(
        "--device",
        default="auto",
        metavar="DEVICE",
        help="auto (a GPU where there is one), cpu, gpu or gpu:N",
    )
    _python(parser)


def _examples(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--examples", default="all", metavar="LIST", help="names, files of your own, or all (default)"
    )


def _seed(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--seed",
        type=option_types.whole(0, LAST_SEED),
        metavar="N",
        default=0,
        help="of weights and of the order of samples (0)",
    )


def _layout_timeout_and_data(parser: argparse.ArgumentParser, timeout: str) -> None:
    parser.add_argument(
        "--image-data-format",
        choices=FORMATS,
        default="native",
        help="layout of pictures; native (the default) is the one that each backend is made for",
    )
    parser.add_argument(
        "--threads",
        type=option_types.whole(1, 4096),
        metavar="N",
        help="CPU threads of a cell, where its framework lets itself be told (as many as cores may be used)",
    )
    parser.add_argument(
        "--timeout", type=option_types.seconds, metavar="SECONDS", help=f"end a cell after so long ({timeout})"
    )
    parser.add_argument(
        "--memory-limit",
        type=option_types.mib,
        metavar="SIZE",
        help="end a cell whose processes hold more memory together, such as 8GiB (no limit)",
    )
    parser.add_argument(
        "--pass-env",
        action="append",
        default=[],
        metavar="NAME",
        help="give cells this environment variable too; they get PATH, HOME and a short list of others, and none of "
        "your secrets; may be given several times",
    )
    data = parser.add_argument_group("data")
    data.add_argument("--data", choices=("real", "synthetic"), default="real", help="synthetic needs no download")
    data.add_argument(
        "--data-dir", type=Path, metavar="DIR", help="a folder with the published files (or set KBENCH_DATA)"
    )


def _baseline(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--baseline",
        metavar="BACKEND",
        help="compare with this one of the run's backends, and not with the fastest",
    )


def _python(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="BACKEND=PATH[,as-is]",
        help="make that backend's environment from this Python; with as-is, use this existing environment "
        "unchanged (conda, a vendor's CUDA stack); may be given several times",
    )


def _results(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR", help="where runs are kept (./results)"
    )


def _detail(parser: argparse.ArgumentParser) -> None:
    detail = parser.add_mutually_exclusive_group()
    for name, words in (
        ("quiet", "neither plan nor progress: the tables alone"),
        ("verbose", "a line for each epoch, with its seconds, loss and accuracy"),
    ):
        detail.add_argument(f"--{name}", dest="detail", action="store_const", const=name, default="usual", help=words)


def _plots(parser: argparse.ArgumentParser) -> None:
    words = "draw no plots, which saves seconds; `report` draws them later"
    parser.add_argument("--no-plots", dest="plots", action="store_false", help=words)


def _format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format",
        choices=OUTPUTS,
        default="table",
        help="of what is printed: table (the default), markdown, csv or json; stdout then holds that alone",
    )


_OPTIONS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "run": _run,
    "parity": _parity,
    "list": _list,
    "setup": _setup,
    "report": _report,
    "compare": _compare,
    "export": _export,
    "doctor": _doctor,
    "clean": _clean,
    "resume": _resume,
}
