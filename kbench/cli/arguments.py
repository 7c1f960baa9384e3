"""Defines each command's description and options, and parses the command line."""

from __future__ import annotations

import argparse
import itertools
import re
import shlex
import sys
import textwrap
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from kbench import hooks
from kbench.additions import Command
from kbench.base.masking import masked_arguments
from kbench.cli import core_commands, hints
from kbench.cli.options import asked_by, how
from kbench.errors import UserError
from kbench.version import __version__
from kbench.words.text import at_blanks, meant, nearest

HELP = "help"  # `help` and `help COMMAND` are the same as --help
ALL = "--help-all"
_ONE = ": expected one argument"  # of argparse
_LINES_OF_EXAMPLES = 7  # their head, and two lines for each of three


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are UserErrors: one sentence, no usage text."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.register("action", None, _ListOnce)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise UserError(f"{action.option_strings[0]}: there is no {value!r}{nearest(value, [*action.choices])}")

    def error(self, message: str) -> NoReturn:
        kind = _Missing if "are required" in message else UserError
        if message.endswith(_ONE):
            kind, message = _NoValue, f"{message.removeprefix('argument ').removesuffix(_ONE)} needs a value"
        raise kind(f"{message[0].upper()}{message[1:]}; see `{self.prog} --help`.")


class _Help(argparse.RawDescriptionHelpFormatter):
    """Wraps what is too long, but breaks no word; of the texts around the options each line, but for commands."""

    def _format_usage(self, *about: Any) -> str:
        width, self._width = self._width, sys.maxsize
        whole, self._width = super()._format_usage(*about), width
        parts = re.findall(r"\[(?:[^][]|\[[^]]*\])*\]|--\S+ [A-Z]\S*|\S+", whole)
        return at_blanks(" ".join(one.replace(" ", "\xa0") for one in parts), width, "  ") + "\n\n"

    def start_section(self, heading: str | None) -> None:
        super().start_section(heading and "\n".join(_wrapped(heading, self._width)))

    def _split_lines(self, text: str, width: int) -> list[str]:
        return _wrapped(" ".join(text.split()), width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = [indent + line for line in text.splitlines()]
        whole = re.compile(rf"  ([A-Z_]+=\S+ )*{re.escape(self._prog)}")  # how a command to type begins
        return "\n".join(one for line in lines for one in ([line] if whole.match(line) else _wrapped(line, width)))


def _wrapped(line: str, width: int) -> list[str]:
    start = re.match(r" *(?:\S+  +)?", line)
    hanging = " " * len(start[0]) if start else ""
    return textwrap.wrap(line, width, subsequent_indent=hanging, break_long_words=False, break_on_hyphens=False) or [
        ""
    ]


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


@cache
def commands() -> dict[str, Command]:
    """Every command, those of features last, unless they say where. `run` is the default."""
    of_features = hooks.once(hooks.commands().items(), "command", core_commands.COMMANDS)
    found: dict[str, Command] = {}
    for name, one in core_commands.COMMANDS.items():
        found |= {name: one, **{further: of for further, of in of_features.items() if of.after == name}}
    return {**found, **of_features}


def runs_programs() -> str:
    """The command that runs a program of the user's, which is its FILE; empty if no feature has one."""
    return next((name for name, one in commands().items() if one.takes_program and "file" in names_of(name)), "")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The options of a command; `run` where none is named. Raises UserError."""
    arguments, known = list(argv), commands()
    if not arguments:
        raise UserError(f"Name the backends to measure with --backends; see `{program()} --help`.")
    if arguments[0] == HELP or (arguments[0] in ("-h", "--help") and arguments[1:2] and arguments[1] in known):
        arguments = [*arguments[1:], "--help"]
    if arguments[0] in ("-h", "--help", "--version"):
        overview = _parser(program(), usage="%(prog)s [COMMAND] [OPTIONS]", description=_overview())
        overview.add_argument("--version", action="version", version=f"kbench {__version__}")
        overview.parse_args(arguments[:1])
    named = arguments.pop(0) if arguments[0] in known else ""
    if not named and not arguments[0].startswith("-"):
        raise UserError(_no_command(arguments))
    command = named or "run"
    about, usual = known[command].about, known[command].usual
    usual += tuple(one for further in hooks.further_options(command) if usual for one in further.usual)
    # An option of another command is not taken for the beginning of one of this: `run --form` is not --format.
    foreign = {option for one in known for option in _options_of(one)} - {*_options_of(command)}
    abbreviated = not foreign & {argument.partition("=")[0] for argument in arguments}
    parser = _parser(
        f"{program()} {command}", description=about, epilog=examples_of(command), allow_abbrev=abbreviated
    )
    add_options(parser, command)
    if usual:
        parser.add_argument(ALL, action="help", help="show all options")
        if ALL not in arguments:
            _shorten(parser, (*usual, "-h", ALL))
    end = arguments.index("--") if known[command].takes_program and "--" in arguments else len(arguments)
    try:
        found = _parsed(parser, arguments[:end], command)
    except _Missing as error:
        if "--backends" in arguments[end:]:
            raise UserError("What follows -- are the program's own arguments: put --backends before it.") from None
        raise error
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
    likely = hints.no_command(arguments, program(), _options_of("run"), runs_programs()) if word else ""
    start = f"There is no command {word[:50]!r}"
    if not likely or (meant(word, [*commands(), HELP]) and not likely.endswith("?")):
        return f"{start}{nearest(word, [*commands(), HELP])}"
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
            if str(error).startswith(f"{option} ") and value.partition("=")[0] not in _options_of(command):
                raise UserError(f"A value that begins with a dash follows an =: `{option}={value}`.") from None
        raise
    except _Missing as error:
        missing = error
        for action in parser._actions:  # only to find what stands for what is missing
            action.required = False
        _, extra = parser.parse_known_args(arguments)
    likely = ""
    if extra:
        of = {one: _options_of(one) for one in commands()}
        likely = hints.unrecognized(extra, arguments, command, program(), of, runs_programs())
    if missing and not likely:
        raise missing
    if extra:
        start = f"Unrecognized arguments: {' '.join(extra)[:200]}"
        raise UserError(_with_hint(start, likely) if likely else f"{start}; see `{parser.prog} --help`.")
    return found


def names_of(command: str) -> list[str]:
    """The names of a command's options and arguments."""
    entries = [one for option in _entries(command) for one in (option[1] if isinstance(option, tuple) else (option,))]
    return [name for entry in entries for name in _with_axes(entry, command)]


def _entries(command: str) -> list[str | tuple[str, tuple[str, ...]]]:
    """The options of a command, those that features add to it last."""
    added = ((one.title, one.options) for one in hooks.further_options(command) if one.options)
    return [*commands()[command].options, *added]


def _with_axes(entry: str, command: str) -> list[str]:
    """The option of an entry, or those of the axes that stand there."""
    if not entry.startswith("@"):
        return [entry]
    return [asked.option for _, asked in asked_by(command) if entry == f"@{asked.group}"]


def _options_of(command: str) -> list[str]:
    return [one for one in names_of(command) if one.startswith("--")]


def add_options(parser: argparse.ArgumentParser, command: str) -> None:
    """Give the parser the options of a command."""
    for option in _entries(command):
        if isinstance(option, tuple):
            title, entries = option
            group = parser.add_argument_group(title)
            for name in (one for entry in entries for one in _with_axes(entry, command)):
                group.add_argument(name, **how(name, command))
        else:
            for name in _with_axes(option, command):
                parser.add_argument(name, **how(name, command))


def examples_of(command: str) -> str:
    """The text below the command's options: help that names backends is in a file, because code must not."""
    of_command, blank, rest = commands()[command].examples.read_text("utf-8").partition("\n\n")
    added = "".join(one.examples.read_text("utf-8") for one in hooks.further_options(command) if one.examples)
    return f"{of_command.rstrip()}\n{added}".rstrip("\n") + (blank or "\n") + rest


def _overview() -> str:
    """The list of commands, and what comes before and after it."""
    listed = "\n".join(f"  {name:<9} {one.listed}" for name, one in commands().items())
    return core_commands.text("overview").replace("{commands}", listed)


def first_run() -> str:
    """Options for a first run of an example: two backends whose environments are quickly made, seconds each."""
    return core_commands.text("first_run").strip()


def _parser(prog: str, **texts: Any) -> Parser:
    return Parser(prog=prog, formatter_class=_Help, **texts)
