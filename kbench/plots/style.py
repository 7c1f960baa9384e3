"""How the user wants pictures drawn: a style of matplotlib's or of a file over the project's own, and a size."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import matplotlib as mpl
from matplotlib import style as known
from matplotlib.font_manager import FontProperties, findfont

from kbench.errors import UserError
from kbench.paths import expanded
from kbench.store.guest_files import open_regular
from kbench.text import plain

# What a style may say: how things are drawn. The rest is of windows, other formats and other kinds of pictures.
_DRAWN = (
    *("axes", "errorbar", "figure", "font", "grid", "hatch", "legend", "lines", "markers", "mathtext", "patch"),
    *("path", "savefig", "text", "xaxis", "xtick", "yaxis", "ytick"),
)
_NOT_TAKEN = {"figure.hooks", "figure.figsize"}  # programs to run; and the size, which has an option of its own
_LARGEST = 10_000.0  # of any number in a style: points, inches, pixels
_LEAST_DPI, _MOST_DPI = 20.0, 2400.0
_LONGEST_FILE = 1 << 20


@dataclass(frozen=True)
class Style:
    """What is laid over the project's own style."""

    settings: Mapping[str, Any] = field(default_factory=dict)  # by matplotlib's names
    size: tuple[float, float] | None = None  # width and height in inches; None: as the content asks for
    exact: bool = False  # its sizes of text are meant for this very size, and not for matplotlib's usual one

    @property
    def own(self) -> bool:
        """Whether the user asked for nothing: pictures are then the same on every machine."""
        return not self.settings and self.size is None


OWN = Style()


def chosen(name: str, size: tuple[float, float] | None) -> Style:
    """The style of that name, or of the .mplstyle file of that path; empty for the project's own.

    Raises UserError where there is none, where it cannot be read, or where no picture could be drawn with it.
    """
    if not name:
        return Style(size=size)
    settings: Any = known.library[name] if name in known.available else _read(name)
    taken = {key: settings[key] for key in settings if key.partition(".")[0] in _DRAWN and key not in _NOT_TAKEN}
    said = next(_wrong(taken), "")
    if said:
        raise UserError(f"--plot-style {name}: {said}.")
    # Pictures are written without savefig, whose settings are those that count for files.
    for key in ("dpi", "facecolor", "edgecolor"):
        if taken.get(f"savefig.{key}", "auto") not in ("auto", "figure"):
            taken[f"figure.{key}"] = taken[f"savefig.{key}"]
    if "svg.fonttype" in settings:  # all else of svg.* decides whether the same run gives the same bytes
        taken["svg.fonttype"] = settings["svg.fonttype"]
    settings = {key: value for key, value in taken.items() if not key.startswith("savefig.")}
    return Style(settings, size, exact=name not in known.available)


def _read(name: str) -> dict[str, Any]:
    """The settings in a file. matplotlib itself logs what is wrong with one and goes on without it."""
    path = expanded(name)
    try:
        with open_regular(path) as file:
            if len(file.read(_LONGEST_FILE + 1)) > _LONGEST_FILE:
                raise UserError(f"--plot-style {name}: it is larger than a style can be.")
    except FileNotFoundError as error:
        near = get_close_matches(name, known.available)
        advice = f"did you mean {near[0]}?" if near else f"it knows {', '.join(known.available)}."
        raise UserError(
            f"--plot-style {plain(name)[:80]!r} is neither a file nor a style of matplotlib's: {advice}"
        ) from error
    except (OSError, ValueError) as error:
        raise UserError(f"--plot-style {plain(name)[:80]}: cannot read it: {_said(error)}.") from error
    log = _Log()
    logger = logging.getLogger("matplotlib")
    propagates, logger.propagate = logger.propagate, False
    logger.addHandler(log)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read: Any = mpl.rc_params_from_file(path, use_default_template=False)
    except (OSError, ValueError) as error:
        raise UserError(f"--plot-style {name}: cannot read it: {_said(error)}.") from error
    finally:
        logger.removeHandler(log)
        logger.propagate = propagates
    if log.said:
        said = log.said[0].replace(f"in file {path!r}, ", "in ").replace(f"in file {path}, ", "in ")
        raise UserError(f"--plot-style {name} is no style file: {said}.")
    return dict(read)


class _Log(logging.Handler):
    """Keeps what matplotlib has to say about a file, a line each."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        lines = record.getMessage().strip().splitlines() or [""]
        self.said.append(plain(lines[0])[:300].rstrip("."))


def _said(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return plain(text)[:200].rstrip(".")


def _wrong(settings: Mapping[str, Any]) -> Iterator[str]:
    """In words, what keeps a picture from being drawn so."""
    for key, value in settings.items():
        if any(not abs(number) <= _LARGEST for number in _numbers(value)):
            yield f"{key} is {plain(str(value))[:40]}, which no picture can be drawn with"
    for key in ("figure.dpi", "savefig.dpi"):
        dpi = settings.get(key)
        if isinstance(dpi, int | float) and not _LEAST_DPI <= dpi <= _MOST_DPI:
            yield f"{key} is {dpi:g}; give {_LEAST_DPI:g} to {_MOST_DPI:g}"
    if settings.get("text.usetex"):
        yield "text.usetex sets text by running LaTeX, which kbench does not; leave that line out"
    size = settings.get("font.size")
    if isinstance(size, int | float) and not 1 <= size <= 100:
        yield f"font.size is {size:g} points; give 1 to 100"
    family = settings.get("font.family")
    if family and not _has_font(settings):
        yield f"this machine has no font {' or '.join(map(str, family))}; install one, or name another"


def _numbers(value: object) -> list[float]:
    if isinstance(value, bool):
        return []
    if isinstance(value, int | float):
        return [value]
    return [number for one in value for number in _numbers(one)] if isinstance(value, list | tuple) else []


def _has_font(settings: Mapping[str, Any]) -> bool:
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mpl.rcdefaults()
        fonts: Any = {key: value for key, value in settings.items() if key.startswith("font.")}
        mpl.rcParams.update(fonts)
        try:
            return bool(findfont(FontProperties(), fallback_to_default=False))
        except ValueError:
            return False
