"""What `doctor` says about data, tools such as the browser, and the commands with which the README begins."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kbench import datasets, hooks
from kbench.base import paths
from kbench.bootstrap import browser
from kbench.cli import arguments
from kbench.commands.finding import DoctorFinding
from kbench.datasets import SYNTHETIC, Origin, archives, describe, fetch
from kbench.datasets.registry import REGISTRY
from kbench.errors import UserError
from kbench.records.values import CHANNELS_FIRST, CHANNELS_LAST, Backend, Example
from kbench.selection import names
from kbench.selection.known import known_examples

README = paths.PACKAGE.parent / "README.md"  # of a checkout
PROFILE = "quick"  # the default of the commands with which the README begins


def data(examples: Iterable[Example], mirror: Path | None) -> list[DoctorFinding]:
    """Where the data of each example would come from, and whether files on this machine are damaged."""
    of_dataset: dict[str, list[Example]] = {}
    for example in examples:
        of_dataset.setdefault(example.data, []).append(example)
    with ThreadPoolExecutor() as pool:
        found = pool.map(lambda item: _data(item[0], item[1], mirror), of_dataset.items())
    return [finding for findings in found for finding in findings]


def _data(name: str, examples: list[Example], mirror: Path | None) -> list[DoctorFinding]:
    if not datasets.is_published(name):
        return [
            DoctorFinding(one.name, "made by the example" if one.own_data else f"{name.replace('_', ' ')}, generated")
            for one in examples
        ]
    forms = {(one.input, layout) for one in examples for layout in (CHANNELS_FIRST, CHANNELS_LAST)}
    profiles = [one.profiles[PROFILE] for one in examples]
    needed = max(one.samples for one in profiles), max(one.validation_samples for one in profiles)
    found = datasets.origin(name, forms, needed, mirror)
    damage = _damage(name, mirror)
    said = _said(found)
    return [DoctorFinding(one.name, said, damage, synthetic=bool(found.missing)) for one in examples]


def _said(origin: Origin) -> str:
    if not origin.missing:
        return f"real data {origin.text}"
    folder = paths.portable(datasets.cache_folder() / "files")
    return (
        f"{SYNTHETIC} data, because there is no {describe(origin.missing)}; for real data, put it into {folder} or "
        "into a folder named by KBENCH_DATA"
    )


def _damage(name: str, mirror: Path | None) -> str:
    """Which of the dataset's files on this machine is not the published one; empty if none."""
    for files in REGISTRY[name].variants:
        for file in files:
            if path := fetch.locate(file, mirror, datasets.cache_folder() / "files"):
                try:
                    archives.verify(path, file)
                except UserError as error:
                    return str(error)
    return ""


def tools() -> list[DoctorFinding]:
    """The browser, for the tests of report.html, and those of features."""
    none = f"none, only needed by the tests of report.html: {browser.WANTED}"
    return [DoctorFinding("browser", browser.find() or none), *hooks.tools()]


def commands(
    known: Mapping[str, Backend], backends: Mapping[str, DoctorFinding], found: Sequence[DoctorFinding]
) -> list[DoctorFinding]:
    """Whether the commands with which the README begins would work; none where kbench is installed without it."""
    if not README.is_file():
        return []
    begins = README.read_text("utf-8").partition("\n## ")[0]
    return [
        _measuring(words, known, backends, found)
        if words.startswith("-")
        else DoctorFinding(f"run.py {words}", _tested())
        for words in re.findall(r"(?m)^    python run\.py (.+)$", begins)
    ]


def _measuring(
    command: str, known: Mapping[str, Backend], backends: Mapping[str, DoctorFinding], found: Sequence[DoctorFinding]
) -> DoctorFinding:
    """Whether this command, which measures, would work, and on which data."""
    options = arguments.parse(command.split())
    asked = [one.name for one in names.select_backends(options.backends, known).chosen]
    hindered = [name for name in asked if backends[name].hinders or backends[name].advice]
    examples = {one.name for one in names.select_examples(options.examples or names.CORE, known_examples()).chosen}
    of_these = [one for one in found if one.what in examples]
    synthetic = [one.what for one in of_these if one.synthetic]
    damaged = [one.what for one in of_these if one.advice]
    said = f"works, with {SYNTHETIC} data in {' and '.join(synthetic)}" if synthetic else "works, on real data"
    advice = f"see {', '.join(hindered + damaged)}" if hindered or damaged else ""
    return DoctorFinding(f"run.py {command}", "does not work yet" if advice else said, advice)


def _tested() -> str:
    if browser.find():
        return "works"
    by_apt = ", if apt cannot install one" if os.geteuid() == 0 and shutil.which("apt-get") else ""
    return f"works; without a browser the tests of report.html are skipped{by_apt}"
