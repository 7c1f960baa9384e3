"""Defines each command's description and options, and parses the command line."""

from __future__ import annotations

import argparse
import itertools
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from kbench import asked as groups
from kbench import axes
from kbench.cli import hints
from kbench.cli.options import how
from kbench.environments.interpreters import CHANNEL
from kbench.errors import UserError
from kbench.masking import masked_arguments
from kbench.text import meant, nearest
from kbench.version import __version__

_WHAT, _MORE = f"@{groups.WHAT}", f"@{groups.MORE}"  # the options of axes that stand here
_SELECTION = ("--backends", _WHAT, "--python", "--channel", "--examples")
_OF_CELLS = ("--timeout", "--memory-limit", "--pass-env")
# A group of options with a title of its own.
_NUMBERS = (
    "override the profile and the example",
    ("--epochs", f"@{groups.NUMBERS}", "--seed", "--seeds", "--init", "--augment"),
)
_VARIANTS = (
    "measure each backend in several versions or settings (for one backend: NAME@0.9 or NAME+jit=off in --backends)",
    (f"@{groups.VARIANTS}",),
)
_HOW_OFTEN = ("how often each cell is measured", ("--repeats", "--precision", "--budget", "--interleave"))
_CLUSTER = ("on a cluster", ("--on", "--spread", "--select", "--worker-per-machine"))
_DATA = ("data", ("--data", "--data-dir"))
_SHOWN = ("--format", "--columns", "--sort", "--export")
_DETAIL = ("", ("--quiet", "--verbose"))  # without a title: one or the other

HELP = "help"  # `help` and `help COMMAND` are the same as --help
# Command -> what it does, and its options. `run` is the default.
COMMANDS: dict[str, tuple[str, tuple[str | tuple[str, tuple[str, ...]], ...]]] = {
    "run": (
        "Measure examples on backends: seconds per epoch, loss and accuracy, as tables and plots.",
        (
            *_SELECTION, "--suite", _VARIANTS, "--profile", _NUMBERS, _HOW_OFTEN,
            _MORE, *_OF_CELLS, _DATA, _CLUSTER, "--baseline", "--name", "--dry-run",
            _DETAIL, "--explain", "--trace", "--no-plots", *_SHOWN, "--results",
        ),
    ),
    "script": (
        "Run your own Keras program, unchanged, on each backend: time and scores of every call of fit, evaluate and "
        "predict.",
        (
            "file", "-m", "--backends", _WHAT, "--python", "--channel", "--with", "--shims", "--max-epochs",
            "--max-steps", _MORE, "--compare-lines", "--seed", "--seeds", "--init", "--workdir",
            "--keep-files", _HOW_OFTEN, "--timeout", "--memory-limit", "--data-dir", "--baseline",
            "--name", "--dry-run",
            _DETAIL, "--explain", "--trace", "--show-output", "--no-plots", *_SHOWN, "--results",
        ),
    ),
    "new": (
        "Write a commented example file to start from. It runs at once.",
        ("new_file", "--like"),
    ),
    "bisect": (
        "Find the release of Keras or of a backend's framework, or the commit in your checkout, that made an example "
        "or a script slower, or changed its loss or memory.",
        (
            "backend", "--package", "--good", "--bad", "--example", "--script", "--with", "--max-epochs",
            "--max-steps", "--workdir", "--by", "--profile", "--budget", _MORE, "--data-dir", "--results",
        ),
    ),
    "resume": (
        "Continue a run: measure the cells that are missing, or whose files have changed. With --budget, also "
        "measure open rows again.",
        (
            "run", "--retry", "--budget", "--on", "--with", _DETAIL, "--no-plots", *_SHOWN, "--results",
        ),
    ),
    "list": (
        "List backends and examples: what each is and can do, whether it is installed; or suites; or your runs; or "
        "published figures.",
        ("what", "workload", "--variables", "--format", "--python", "--results"),
    ),
    "setup": (
        "Create the backends' environments where they are missing. Measures nothing.",
        ("--backends", _WHAT, "--python", "--channel"),
    ),
    "report": (
        "Write a run's tables, plots and pages again from its measurements, and print the tables; or put several "
        "runs on one page.",
        (
            "runs", "--output", "--plot-style", "--plot-size", "--no-plots", "--verbose", "--baseline",
            *_SHOWN, "--results",
        ),
    ),
    "compare": (
        "Compare runs side by side. For each example and backend: steady times, their ratio with its 95 % interval, "
        "a verdict, final accuracy, time to accuracy, and whether the losses are the same. Of two coverage runs: "
        "which public names broke, are mended, new or gone.",
        ("runs", "--fail-above", "--fail-on", "--allow", "--format", "--export", "--results"),
    ),
    "pack": (
        "Pack a run into one small file, to keep or send. Whatever reads a run's folder reads it, too.",
        ("run", "--out", "--results"),
    ),
    "unpack": (
        "Unpack a packed run into its folder, beside the file: to continue it, or to look into it.",
        ("run", "--results"),
    ),
    "export": ("Write a run's data in a format of other programs.", ("run", "--to", "--out", "--results")),
    "parity": (
        "Check whether backends compute the same on one batch, from the same weights and without dropout: the "
        "outputs of the model and of each layer, the loss, and the weights after 1 and 10 steps.",
        (
            *_SELECTION, f"@{groups.NUMBERS}", "--seed", "--form", "--script", "-m", "--with", "--shims",
            "--workdir", _MORE, *_OF_CELLS, _DATA, "--name", "--dry-run",
            "--format", "--export", "--results",
        ),
    ),
    "coverage": (
        "Try every public name of Keras on each backend: layers, losses, metrics, optimizers, ops and others, with "
        "the settings that change what they compute; and tell which differ, raise, crash or hang.",
        (
            "--backends", _WHAT, "--python", "--channel", "--only", "--quick", "--seed", "--fail-on", "--on",
            "--select", _MORE, *_OF_CELLS, "--name", "--dry-run", "--results",
        ),
    ),
    "doctor": (
        "Check this machine: Pythons, compilers, GPU, disk, environments, data. Changes nothing.",
        ("--data-dir", _WHAT, "--python"),
    ),
    "clean": (
        "Show what is in kbench's cache folder, or remove one kind of it. The next run creates what it needs again. "
        "Results are never touched, and nothing is removed while a run goes on.",
        ("what",),
    ),
}  # fmt: skip


# The options that `--help` shows of the commands that have many; `--help-all` shows all.
USUAL = {
    "run": (
        "--backends", "--examples", "--suite", "--profile", "--epochs", "--batch-size", "--repeats", "--budget",
        "--device", "--baseline", "--name", "--dry-run", "--verbose", "--explain",
    ),
    "script": (
        "file", "-m", "--backends", "--with", "--max-epochs", "--max-steps", "--variant", "--compare-lines",
        "--seeds", "--init", "--workdir", "--repeats", "--budget", "--device", "--verbose", "--explain",
        "--show-output",
    ),
}  # fmt: skip
ALL = "--help-all"
_LINES_OF_EXAMPLES = 7  # their head, and two lines for each of three


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are UserErrors: one sentence, no usage text."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.register("action", None, _ListOnce)

    def error(self, message: str) -> NoReturn:
        kind = _Missing if "are required" in message else UserError
        kind = _NoValue if message.endswith("expected one argument") else kind
        raise kind(f"{message[0].upper()}{message[1:]}; see `{self.prog} --help`.")


class _ListOnce(argparse.Action):
    """Stores a value. Two lists of what to measure are refused, where the last would silently count."""

    def __call__(self, parser: argparse.ArgumentParser, found: argparse.Namespace, value: Any, *_: object) -> None:
        before = getattr(found, self.dest)
        if before is not self.default and self.dest in ("backends", "examples"):
            both = [one if isinstance(one, str) else ",".join(map(str, one)) for one in (before, value)]
            option = self.option_strings[0]
            raise UserError(f"{option} is there twice: a list has commas, `{option} {shlex.quote(','.join(both))}`.")
        setattr(found, self.dest, value)


class _Missing(UserError):
    """An option or argument is missing, perhaps because another word stands for it."""


class _NoValue(UserError):
    """An option has no value, perhaps because that begins with a dash."""


def program() -> str:
    """How the user calls kbench: `run.py` or `kbench`."""
    name = Path(sys.argv[0]).name
    return "python run.py" if name == "run.py" else "kbench" if name != "__main__.py" else "python -m kbench"


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The options of a command; `run` where none is named. Raises UserError."""
    arguments = list(argv)
    if not arguments:
        raise UserError(f"Name the backends to measure with --backends; see `{program()} --help`.")
    if arguments[0] == HELP or (arguments[0] in ("-h", "--help") and arguments[1:2] and arguments[1] in COMMANDS):
        arguments = [*arguments[1:], "--help"]
    if arguments[0] in ("-h", "--help"):
        _parser(program(), usage="%(prog)s [COMMAND] [OPTIONS]", description=_text("overview")).print_help()
        raise SystemExit(0)
    named = arguments.pop(0) if arguments[0] in COMMANDS else ""
    if not named and not arguments[0].startswith("-"):
        raise UserError(_no_command(arguments))
    command = named or "run"
    about, _ = COMMANDS[command]
    # An option of another command is not taken for the beginning of one of this: `run --form` is not --format.
    foreign = {option for one in COMMANDS for option in _options_of(one)} - {*_options_of(command)}
    abbreviated = not foreign & {argument.partition("=")[0] for argument in arguments}
    parser = _parser(f"{program()} {command}", description=about, epilog=_text(command), allow_abbrev=abbreviated)
    add_options(parser, command)
    if command in USUAL:
        parser.add_argument(ALL, action="help", help="show all options")
        if ALL not in arguments:
            _shorten(parser, (*USUAL[command], "-h", ALL))
    takes = command in ("script", "parity", "resume", "bisect")
    end = arguments.index("--") if takes and "--" in arguments else len(arguments)
    try:
        found = _parsed(parser, arguments[:end], command)
    except _Missing as error:
        if "--backends" in arguments[end:]:
            raise UserError("What follows -- are the program's own arguments: put --backends before it.") from None
        raise error
    if getattr(found, "channel", None):
        os.environ[CHANNEL] = found.channel  # read where a Python is installed
    found.arguments = tuple(arguments[end + 1 :])  # of the script
    found.command = command
    found.argv = list(masked_arguments(argv))  # which results keep
    return found


def _shorten(parser: argparse.ArgumentParser, usual: Sequence[str]) -> None:
    """Keep all but the usual options and the first examples out of the help."""
    for action in parser._actions:
        if not {action.dest, *action.option_strings} & {*usual}:
            action.help = argparse.SUPPRESS
    examples, *rest = (parser.epilog or "").split("\n\n")
    parser.epilog = "\n\n".join(["\n".join(examples.split("\n")[:_LINES_OF_EXAMPLES]), *rest[-1:]])


def _no_command(arguments: Sequence[str]) -> str:
    """The sentence on a first word that is no command."""
    word = arguments[0]
    likely = hints.no_command(arguments, program(), COMMANDS, _options_of("run")) if word else ""
    start = f"There is no command {word[:50]!r}"
    if not likely or (meant(word, [*COMMANDS, HELP]) and not likely.endswith("?")):
        return f"{start}{nearest(word, [*COMMANDS, HELP])}"
    return _with_hint(start, likely)


def _with_hint(start: str, likely: str) -> str:
    return f"{start}: {likely}" if likely.endswith("?") else f"{start}. {likely}."


def _parsed(parser: argparse.ArgumentParser, arguments: Sequence[str], command: str) -> argparse.Namespace:
    """The options. Raises UserError, with what was probably meant."""
    missing = None
    try:
        found, extra = parser.parse_known_args(arguments)
    except _NoValue as error:
        for option, value in itertools.pairwise(arguments):
            if str(error).startswith(f"Argument {option}:") and value.partition("=")[0] not in _options_of(command):
                raise UserError(f"A value that begins with a dash follows an =: `{option}={value}`.") from None
        raise
    except _Missing as error:
        missing = error
        for action in parser._actions:  # only to find what stands for what is missing
            action.required = False
        _, extra = parser.parse_known_args(arguments)
    likely = ""
    if extra:
        likely = hints.unrecognized(extra, arguments, command, program(), {one: _options_of(one) for one in COMMANDS})
    if missing and not likely:
        raise missing
    if extra:
        start = f"Unrecognized arguments: {' '.join(extra)[:200]}"
        raise UserError(_with_hint(start, likely) if likely else f"{start}; see `{parser.prog} --help`.")
    return found


def names_of(command: str) -> list[str]:
    """The names of a command's options and arguments."""
    _, options = COMMANDS[command]
    entries = [one for option in options for one in (option[1] if isinstance(option, tuple) else (option,))]
    return [name for entry in entries for name in _with_axes(entry, command)]


def _with_axes(entry: str, command: str) -> list[str]:
    """The option of an entry, or those of the axes that stand there."""
    if not entry.startswith("@"):
        return [entry]
    return [asked.option for _, asked in axes.asked_by(command) if entry == f"@{asked.group}"]


def _options_of(command: str) -> list[str]:
    return [one for one in names_of(command) if one.startswith("--")]


def add_options(parser: argparse.ArgumentParser, command: str) -> None:
    """Give the parser the options of a command."""
    _, options = COMMANDS[command]
    for option in options:
        if isinstance(option, tuple):
            title, entries = option
            group = parser.add_argument_group(title) if title else parser.add_mutually_exclusive_group()
            for name in (one for entry in entries for one in _with_axes(entry, command)):
                group.add_argument(name, **how(name, command))
        else:
            for name in _with_axes(option, command):
                parser.add_argument(name, **how(name, command))


def first_run() -> str:
    """Options for a first run of an example: two backends whose environments are quickly made, seconds each."""
    return _text("first_run").strip()


def _parser(prog: str, **texts: Any) -> Parser:
    parser = Parser(prog=prog, formatter_class=argparse.RawDescriptionHelpFormatter, **texts)
    parser.add_argument("--version", action="version", version=f"kbench {__version__}")
    return parser


def _text(name: str) -> str:
    """Help that names backends: in a file, because code must not name any."""
    return (Path(__file__).parent / "help" / f"{name}.txt").read_text("utf-8")
