"""Says why there is no file of that name, and which was probably meant, to end an error's sentence."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Collection
from pathlib import Path

from kbench.base import paths
from kbench.words.text import meant, nearest


def why(item: str, ending: str, known: Collection[str] = ()) -> str:
    """Begins with a colon. `ending`: of such a file; known: names that stand for one without being a file's."""
    path = paths.with_home(item)
    if re.match(r"\w+:/", item):
        return ": it is an address; download the file and name that."
    if os.path.isdir(path):  # noqa: PTH112  # pathlib's raises for a name that is too long
        return ": it is a folder; name a file in it."
    if os.path.isfile(path):  # noqa: PTH113
        return f": the name of that file does not end with {ending}."
    if os.path.exists(path):  # noqa: PTH110
        return ": it is a pipe or a device, and no file."
    if set("*?[") & {*item}:
        found = sorted(one for one in glob.glob(str(path)) if one.endswith(ending))  # noqa: PTH207  # may be absolute
        such = f", such as {found[0]}" if found else ""
        return f": names are not patterns here; name the files themselves{such}."
    if os.path.isfile(f"{path}{ending}"):  # noqa: PTH113
        return f": did you mean {item}{ending}?"
    if near := meant(item, known) or meant(path.stem, known if len(path.stem) > 1 else ()):
        return f": did you mean {near}?"
    if beside := meant(path.name, _files(path.parent, ending)):
        return f": did you mean {path.with_name(beside) if path.parent != Path() else beside}?"
    if alike := [one for one in known if len(item) > 2 and item.lower() in one]:
        return f": did you mean {', '.join(alike[:-1])}{' or ' * (len(alike) > 1)}{alike[-1]}?"
    if item.endswith(ending) or not known:
        return f" in {path.absolute().parent}."
    return nearest(item, known)


def _files(folder: Path, ending: str) -> list[str]:
    try:
        return sorted(one.name for one in folder.iterdir() if one.name.endswith(ending))
    except (OSError, ValueError):  # no such folder, or a name that none can have
        return []
