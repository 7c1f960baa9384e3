"""How the values on an axis are asked for: the option, what it takes, its help, and the commands that have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Numbers:
    """Whole numbers between the two, both included, or these words."""

    lowest: int
    highest: int
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Words:
    """Some of these words; any where there are none."""

    words: tuple[str, ...] = ()


# Where a help text has the options of axes.
WHAT, NUMBERS, MORE = "what", "numbers", "more"


@dataclass(frozen=True)
class Asked:
    """How values on an axis are asked for."""

    option: str  # on the command line; in Python the same with underscores
    help: str
    several: str = ""  # what the help adds for commands that take several values
    takes: Numbers | Words | None = None  # None: one text, which its command reads
    commands: tuple[str, ...] = ("run",)
    single: tuple[str, ...] = ()  # commands that measure one value
    one_each: str = ""  # if every run does: what is said to several
    group: str = MORE
    metavar: str = "LIST"
    repeated: bool = False  # one value each time that the option is given
    default: str | None = None
    help_of: Mapping[str, str] = field(default_factory=dict)  # a command -> its own help
    called: str = ""  # among a command's options, if not as the option is

    @property
    def dest(self) -> str:
        """Its name among a command's options."""
        return self.called or self.option.lstrip("-").replace("-", "_")

    def accepts(self, value: str | int) -> bool:
        """Whether the option takes this value."""
        match self.takes:
            case Numbers(lowest, highest, words):
                return value in words if isinstance(value, str) else lowest <= value <= highest
            case Words(words):
                return isinstance(value, str) and (not words or value in words)
        return isinstance(value, str)
