"""Reads a user's Keras program as an example that owns its training loop. It is parsed, not run."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from kbench.errors import UserError
from kbench.selection.examples import PROFILES, parsed, title_of
from kbench.store.files import read_bytes
from kbench.values import SCRIPT, Backend, Example, Profile

# As PEP 723 has it.
_PEP_723 = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")


def requirements(text: str) -> tuple[str, ...]:
    """The packages of --with, separated by commas, with versions if given (`pandas>=1,<2`). Raises UserError."""
    return _checked(re.split(r",\s*(?=[A-Za-z])", text), "--with")


def of_its_own(path: Path, known: Mapping[str, Backend]) -> tuple[str, ...]:
    """The packages of the program's `# /// script` block (PEP 723), without Keras and backends. Raises UserError."""
    text = importlib.util.decode_source(read_bytes(path))  # which was parsed before
    found = [one for one in _PEP_723.finditer(text) if one["type"] == "script"]
    if not found:
        return ()
    lines = (line[2:] if line.startswith("# ") else line[1:] for line in found[0]["content"].splitlines())
    try:
        named = msgspec.toml.decode("\n".join(lines)).get("dependencies", [])
    except (msgspec.DecodeError, RecursionError) as error:
        raise UserError(f"The `# /// script` block of {path.name} is not valid TOML: {error}.") from None
    if not isinstance(named, list):
        raise UserError(f'`dependencies` of {path.name} is not a list of packages, such as ["pandas"].')
    builds = [build for backend in known.values() for build in backend.builds]
    ours = {canonicalize_name(Requirement(one).name) for build in builds for one in build.requirements}
    checked = _checked([str(one) for one in named], f"`dependencies` of {path.name}")
    return tuple(one for one in checked if canonicalize_name(Requirement(one).name) not in ours | {"keras"})


def _checked(named: Sequence[str], where: str) -> tuple[str, ...]:
    for one in named:
        try:
            Requirement(one if one.isprintable() else "")
        except InvalidRequirement:
            raise UserError(f"{where}: {one[:50]!r} is not a package, such as pandas or pandas>=1.1.") from None
    return tuple(dict.fromkeys(one.strip() for one in named))


def load(path: Path) -> Example:
    """The program in the file `path`. Raises UserError, one sentence."""
    if path.suffix == ".ipynb":
        raise UserError(f"{path} is a notebook: convert it with `jupyter nbconvert --to script {path}`.")
    if not os.path.isfile(path):  # noqa: PTH113  # pathlib's raises for a name that is too long
        raise UserError(f"There is no script {path}.")
    content, tree = parsed(path, "script")
    return Example(
        name=path.name,
        title=title_of(tree, path.name),
        path=path.absolute(),
        task=SCRIPT,
        data="",
        input="sequence",  # the program chooses its own image layout
        batch_size=0,
        parameters=None,
        profiles=dict.fromkeys(PROFILES, Profile(0, 0)),
        sha256=hashlib.sha256(content).hexdigest(),
    )
