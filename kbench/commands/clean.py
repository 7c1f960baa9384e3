"""`clean`: what lies in the cache folder, and room made there; results are never touched."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tabulate import tabulate

from kbench import paths
from kbench.cache import cleaning, usage
from kbench.cache.cleaning import Cleaned, Item
from kbench.cli import arguments
from kbench.session import choices
from kbench.text import size

ABOUT = {
    cleaning.ENVIRONMENTS: "the backends' environments",
    cleaning.DATA: "downloads and prepared arrays",
    cleaning.COMPILED: "what backends compiled",
    cleaning.PYTHONS: "Pythons that uv or conda brought",
    cleaning.OWN: "kbench's own environments",
}


def main(options: argparse.Namespace) -> int:
    """Show what there is, free what was asked for; 1 where something could not be removed. Raises UserError."""
    folder = paths.cache_folder()
    items = cleaning.survey(folder, choices.known_backends().values())
    print(_table(folder, items))
    print()
    chosen = cleaning.chosen(items, options.what or "")
    cleaned = cleaning.remove(folder, chosen, dry_run=options.dry_run)
    for line in _told(folder, cleaned, options.dry_run):
        print(line)
    if not options.what and len(items) > len(chosen):
        words = " | ".join((cleaning.ENVIRONMENTS, cleaning.DATA, cleaning.COMPILED, "all"))
        print(f"All of a kind is freed by: {arguments.program()} clean {words}")
    return 1 if cleaned.failed else 0


def _table(folder: Path, items: Sequence[Item]) -> str:
    rows = []
    for kind, about in ABOUT.items():
        there = [item.path for item in items if item.kind == kind]
        unused = [item.path for item in items if item.kind == kind and item.unused]
        rows.append([kind, about, len(there), size(usage.size(there).there), len(unused)])
    grid = tabulate(rows, headers=["", "", "there", "on disk", "no longer used"], disable_numparse=True)
    return f"{folder}\n{grid}"


def _told(folder: Path, cleaned: Cleaned, dry_run: bool) -> list[str]:
    remove, free = ("would remove", "Would free") if dry_run else ("removed", "Freed")
    lines = [f"{remove} {_name(folder, item)}{_because(item.unused)}" for item in cleaned.removed]
    lines += [f"kept {_name(folder, item)}: {why}" for item, why in cleaned.kept.items()]
    lines += [f"could not remove {_name(folder, item)}: {why}" for item, why in cleaned.failed.items()]
    there, freed = cleaned.size.there, cleaned.size.freed
    shared = f"; {size(there - freed)} more stay in uv's own cache, until `uv cache clean`" if there > freed else ""
    if not cleaned.removed:
        return [*lines, "Nothing to free." if not (cleaned.kept or cleaned.failed) else f"{free} nothing."]
    return [*lines, f"{free} {size(freed)}{shared}."]


def _name(folder: Path, item: Item) -> str:
    return item.path.relative_to(folder).as_posix()


def _because(why: str) -> str:
    return f": {why}" if why else ""
