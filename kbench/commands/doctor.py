"""`doctor`: checks this machine for everything that a run needs; each line is ok or says what to type."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from pathlib import Path

from kbench import paths
from kbench.cli import arguments
from kbench.commands import doctor_checks
from kbench.commands.doctor_checks import Finding
from kbench.datasets import names
from kbench.errors import UserError
from kbench.machine import devices
from kbench.session import choices, terminal
from kbench.text import plain

TO_DO = "to do"


def main(options: argparse.Namespace) -> int:
    """Check everything and print it; 1 if there is something to do. Raises UserError."""
    known = choices.known_backends()
    pythons = choices.chosen_pythons(options, known)
    gpus = devices.gpus()
    device = devices.choose(options.device, gpus)
    mirror = choices.data_folder(options)
    if mirror is not None and not mirror.is_dir():
        raise UserError(f"{mirror} is not a folder: give --data-dir or KBENCH_DATA one that exists")
    cache = paths.cache_folder()
    setup = f"{arguments.program()} setup --backends"
    backends = [doctor_checks.backend(one, device, pythons.get(one.name), cache, setup) for one in known.values()]
    to_make = sum(makes for _, makes in backends)
    here = Path.cwd()
    parts = {
        "Machine": [
            *doctor_checks.machine(cache, here, to_make, device),
            *doctor_checks.compilers(known.values()),
            *doctor_checks.gpus(gpus),
        ],
        f"Backends, on {device.label}": [finding for finding, _ in backends],
        "Data": [doctor_checks.data(name, mirror, cache) for name in names()],
    }
    print("\n\n".join(f"{title}\n{_lines(findings)}" for title, findings in parts.items()))
    count = sum(bool(finding.advice) for findings in parts.values() for finding in findings)
    print(f"\n{'All is fine.' if not count else f'{count} to do: see the lines marked so.'}")
    return 1 if count else 0


def _lines(findings: Sequence[Finding]) -> str:
    width = max(len(finding.what) for finding in findings)
    return "\n".join(_line(finding, width) for finding in findings)


def _line(finding: Finding, width: int) -> str:
    text = plain(f"{finding.found}: {finding.advice}" if finding.advice else finding.found)
    state = TO_DO if finding.advice else "ok"
    head = f"  {state:<{len(TO_DO)}}  {finding.what:<{width}}  "
    # Not at hyphens or within words: commands must stay whole.
    return textwrap.fill(
        text,
        terminal.width(),
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )
