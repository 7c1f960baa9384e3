"""Finds where a dataset can come from: files on this machine, kbench itself, or a download."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from kbench.base import paths
from kbench.datasets import addresses, fetch, prepared
from kbench.datasets.prepared import Recipe
from kbench.datasets.registry import Dataset, RemoteFile, Shipped
from kbench.errors import UserError

REAL: Final = "real"
SYNTHETIC: Final = "synthetic"

Needed = tuple[int, int] | None  # samples to train on and to validate; None: all that there are
Forms = Collection[tuple[str, str]]  # (input, layout)


@dataclass(frozen=True)
class MissingFile:
    """A file that is not on this machine and cannot be downloaded."""

    file: RemoteFile
    why: str


@dataclass(frozen=True)
class Origin:
    """Where the data of a run come from, in words, or which files of the real ones are missing."""

    source: Literal["real", "synthetic"]
    text: str = ""
    missing: tuple[MissingFile, ...] = ()


class MissingFiles(UserError):
    """Files are missing and cannot be downloaded."""

    def __init__(self, missing: Sequence[MissingFile], folder: Path) -> None:
        self.missing = tuple(missing)
        self.folder = folder  # of kbench's cache, for such files
        them = "it" if len(missing) == 1 else "them"
        super().__init__(
            f"{describe(missing)} cannot be downloaded: put {them} into {paths.portable(folder)} or into a folder "
            "named by KBENCH_DATA, or use --data synthetic, which needs none"
        )


def describe(missing: Iterable[MissingFile]) -> str:
    """The files with where they are published and why they cannot be had from there, as part of a sentence."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in missing:
        at = one.file.addresses[0].removesuffix(one.file.name) if one.file.addresses else ""
        groups.setdefault((at, one.why), []).append(one.file.name)
    return "; ".join(
        f"{', '.join(names)}{f' from {at}' if at else ''} ({why})" for (at, why), names in groups.items()
    )


def find(name: str, dataset: Dataset, forms: Forms, needed: Needed, mirror: Path | None, cache: Path) -> Origin:
    """Where the real data would come from, for all `forms`. Downloads nothing, but asks addresses if it must."""
    brought = cache / "files"
    if files := present(dataset, mirror, brought):
        place = fetch.locate(files[0], mirror, brought) or brought
        return Origin(REAL, f"in {paths.portable(place.parent)}")
    for files in dataset.variants:
        if not all(prepared.find(recipe(name, *form, files), cache / "prepared") for form in forms):
            continue
        return Origin(REAL, "prepared earlier")
    if dataset.shipped and enough(dataset.shipped, needed):
        return Origin(REAL, "that come with kbench")
    files = to_download(dataset)
    absent = [file for file in files if fetch.locate(file, mirror, brought) is None]
    asked = addresses.ask(address for file in absent for address in file.addresses)
    missing = tuple(MissingFile(file, why) for file in absent if (why := _why(file, asked)))
    if missing:
        return Origin(REAL, missing=missing)
    return Origin(REAL, f"downloaded from {urlsplit(absent[0].addresses[0]).hostname}")


def present(dataset: Dataset, mirror: Path | None, brought: Path) -> tuple[RemoteFile, ...] | None:
    """The first variant whose files are all on this machine."""
    return next((one for one in dataset.variants if all(fetch.locate(file, mirror, brought) for file in one)), None)


def to_download(dataset: Dataset) -> tuple[RemoteFile, ...]:
    """The first variant that is published; of none, the first one."""
    return next((one for one in dataset.variants if all(file.addresses for file in one)), dataset.variants[0])


def enough(shipped: Shipped, needed: Needed) -> bool:
    """Whether what comes with kbench has the samples that are needed."""
    if needed is None:
        return not shipped.sha256  # it is the whole
    return needed[0] <= shipped.samples and needed[1] <= shipped.validation_samples


def shipped_paths(shipped: Shipped) -> tuple[Path, ...]:
    """The files that come with kbench."""
    return tuple(paths.project_folder("datasets") / file.name for file in shipped.files)


def recipe(name: str, input: str, layout: str, files: Iterable[RemoteFile]) -> Recipe:
    """The recipe of a published dataset."""
    return Recipe(name, input, layout, REAL, tuple(digest for file in files for digest in file.digests))


def _why(file: RemoteFile, asked: dict[str, str]) -> str:
    """Why the file cannot be downloaded; empty if one of its addresses answers."""
    whys = [asked[address] for address in file.addresses]
    if not whys:
        return "no address to download it from is known"
    return "" if not all(whys) else ", ".join(dict.fromkeys(whys))
