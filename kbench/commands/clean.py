"""`clean`: lists what is in the cache folder, or removes one kind of it; never touches results."""

from __future__ import annotations

import argparse

from tabulate import tabulate

from kbench.base import disk_usage, paths
from kbench.cache import folder
from kbench.cli import arguments
from kbench.cli.options import KINDS
from kbench.words.text import size

ABOUT = {
    "environments": "the backends' environments",
    "data": "downloads, prepared arrays, packed runs that were read",
    "compiled": "code that backends compiled",
    "interpreters": "Pythons that kbench installed",
    "kbench": "kbench's own environments",
}


def main(options: argparse.Namespace) -> int:
    """List the kinds, or remove one; 1 if something could not be removed. Raises UserError."""
    cache = paths.cache_folder()
    if not options.what:
        there = {kind: folder.made(cache, kind) for kind in ABOUT}
        rows = [
            [kind, about, len(there[kind]), size(disk_usage.size(there[kind])[0])] for kind, about in ABOUT.items()
        ]
        print(f"{cache}\n{tabulate(rows, headers=['', '', 'there', 'on disk'], disable_numparse=True)}")
        print(f"\nTo free a kind: {arguments.program()} clean {' | '.join(KINDS)}")
        return 0
    removed = folder.remove(cache, list(ABOUT) if options.what == "all" else [options.what])
    for path in removed.paths:
        print(f"removed {path.relative_to(cache)}")
    for path in removed.kept:
        print(f"kept {path.relative_to(cache)}: a process runs in it")
    for path, why in removed.failed.items():
        print(f"could not remove {path.relative_to(cache)}: {why}")
    also = f"; {size(removed.shared)} more stay in uv's own cache, until `uv cache clean`" if removed.shared else ""
    print(f"Freed {size(removed.freed)}{also}." if removed.paths else "Nothing to free.")
    return 1 if removed.failed else 0
