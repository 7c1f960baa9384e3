"""Reads what a program says itself of packages and Python: its `# /// script` block (PEP 723)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from kbench.errors import UserError
from kbench.records.values import Backend

# As PEP 723 has it.
_BLOCK = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
_BEGINS = re.compile(r"(?m)^# /// script\s*$")
LAST_MINOR = 40  # of Python 3


@dataclass(frozen=True)
class Declared:
    """What the block of a program says."""

    packages: tuple[str, ...] = ()  # without Keras and backends
    left_out: tuple[str, ...] = ()  # those, which are kbench's
    python: str = ""  # requires-python


def requirements(text: str) -> tuple[str, ...]:
    """The packages of --with, separated by commas, with versions if given (`pandas>=1,<2`). Raises UserError."""
    return _checked(re.split(r",\s*(?=[A-Za-z])", text), "--with")


def read(text: str, name: str, known: Mapping[str, Backend]) -> Declared:
    """What the program `text` declares; errors call it `name`. Raises UserError."""
    text = text.replace("\r\n", "\n")
    found = [one for one in _BLOCK.finditer(f"{text}\n") if one["type"] == "script"]
    if len(found) > 1:
        raise UserError(f"{name} has {len(found)} `# /// script` blocks: leave one.")
    if not found:
        if begins := _BEGINS.search(text):
            line = text.count("\n", 0, begins.start()) + 1
            raise UserError(
                f"The `# /// script` block in line {line} of {name} has no end: each of its lines begins with #, and "
                "the last is `# ///`."
            )
        return Declared()
    lines = (line[2:] if line.startswith("# ") else line[1:] for line in found[0]["content"].splitlines())
    try:
        said = msgspec.toml.decode("\n".join(lines))
    except (msgspec.DecodeError, RecursionError) as error:
        raise UserError(f"The `# /// script` block of {name} is not valid TOML: {error}.") from None
    named, python = said.get("dependencies", []), said.get("requires-python", "")
    if not isinstance(named, list):
        raise UserError(f'`dependencies` of {name} is not a list of packages, such as ["pandas"].')
    _check_python(python, name)
    builds = [build for backend in known.values() for build in backend.builds]
    ours = {canonicalize_name(Requirement(one).name) for build in builds for one in build.requirements} | {"keras"}
    checked = _checked([str(one) for one in named], f"`dependencies` of {name}")
    left_out = tuple(one for one in checked if canonicalize_name(Requirement(one).name) in ours)
    return Declared(tuple(one for one in checked if one not in left_out), left_out, python)


def minors(python: str) -> list[str]:
    """The minor versions of Python 3 of which some release fits `requires-python`; empty if it says nothing."""
    if not python:
        return []
    allowed = SpecifierSet(python)
    return [
        f"3.{minor}"
        for minor in range(LAST_MINOR)
        if any(allowed.contains(f"3.{minor}.{patch}") for patch in range(LAST_MINOR))
    ]


def _check_python(python: object, name: str) -> None:
    try:
        if not isinstance(python, str):
            raise InvalidSpecifier
        SpecifierSet(python)
    except InvalidSpecifier:
        wrong = str(python)[:50]
        raise UserError(f"`requires-python` of {name}: {wrong!r} is not a version, such as '>=3.11'.") from None


def _checked(named: Sequence[str], where: str) -> tuple[str, ...]:
    for one in named:
        try:
            Requirement(one if one.isprintable() else "")
        except InvalidRequirement:
            raise UserError(f"{where}: {one[:50]!r} is not a package, such as pandas or pandas>=1.1.") from None
    return tuple(dict.fromkeys(one.strip() for one in named))
