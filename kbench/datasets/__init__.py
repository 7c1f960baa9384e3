"""Prepares datasets as plain arrays in the cache, from a local folder, a download or a generator."""

from __future__ import annotations

import difflib
from pathlib import Path

from kbench import paths
from kbench.datasets import archives, fetch, prepared
from kbench.datasets.prepared import Recipe
from kbench.datasets.registry import REGISTRY, File, Registry
from kbench.errors import UserError
from kbench.values import Data

INPUTS = ("image", "flat", "sequence")
REAL, SYNTHETIC = "real", "synthetic"

__all__ = ["INPUTS", "REAL", "SYNTHETIC", "names", "prepare", "title"]


def names() -> tuple[str, ...]:
    """The datasets with a name; any .npz file is a dataset, too."""
    return tuple(REGISTRY)


def title(name: str) -> str:
    """A line about the dataset `name`, or the path itself if it is the user's own file."""
    return REGISTRY[name].title if name in REGISTRY else name


def prepare(
    name: str,
    *,
    input: str,
    image_data_format: str,
    source: str = REAL,
    mirror: Path | None = None,
    cache: Path | None = None,
    progress: bool = True,
    samples: int | None = None,
    registry: Registry = REGISTRY,
) -> Data:
    """The dataset `name` as arrays in the cache; created by the first call, found in milliseconds later.

    `name` is one of `names()` or the path of the user's own .npz file. `input` is "image" (in the given
    image_data_format), "flat" or "sequence". `source` is "real", or "synthetic" for generated data of the same
    shapes; the user's own file is always used itself. `mirror` is a folder with the published files, searched
    first. `cache` is the folder for downloads and arrays. `samples` limits only random_images. Raises UserError for
    wrong requests, and if data cannot be found, read or written.
    """
    _check(name, input, mirror, registry)
    folder = paths.cache_folder() / "data" if cache is None else cache
    layout = image_data_format if input == "image" else "any"
    parent = folder / "prepared"
    if name not in registry:
        from kbench.datasets import npz

        path = Path(name).expanduser().absolute()
        return _found_or_made(Recipe(path.name, input, layout, REAL, (npz.digest(path),)), parent, (path,))
    if not registry[name].variants or source == SYNTHETIC:
        limit = samples if name == "random_images" else None
        return _found_or_made(Recipe(name, input, layout, SYNTHETIC, (), limit), parent)
    return _published(name, input, layout, mirror, folder, progress, registry)


def _found_or_made(
    recipe: Recipe, parent: Path, sources: tuple[Path, ...] = (), files: tuple[File, ...] = ()
) -> Data:
    found = prepared.find(recipe, parent)
    if found is not None:
        return found
    # Imported only where something must be made: numpy costs more than all else here.
    from kbench.datasets import making

    return making.make(recipe, parent, sources, files)


def _published(
    name: str,
    input: str,
    layout: str,
    mirror: Path | None,
    folder: Path,
    progress: bool,
    registry: Registry,
) -> Data:
    parent, brought = folder / "prepared", folder / "files"
    variants = registry[name].variants

    def at_hand(files: tuple[File, ...]) -> bool:
        return all(fetch.locate(file, mirror, brought) for file in files)

    # Files on this machine are preferred, then arrays that were prepared earlier, then a download.
    present = next(filter(at_hand, variants), None)
    for files in (present,) if present else variants:
        found = prepared.find(_recipe(name, input, layout, files), parent)
        if found is not None:
            return found
    files = present or next((v for v in variants if all(file.addresses for file in v)), variants[0])
    sources = tuple(fetch.obtain(file, mirror, brought, dataset=name, progress=progress) for file in files)
    recipe = _recipe(name, input, layout, files)
    try:
        return _found_or_made(recipe, parent, sources, files)
    except archives.Damaged as damage:  # by the disk, or an old download
        try:
            for file, path in zip(files, sources, strict=True):
                fetch.renew(file, path, brought, dataset=name, progress=progress)
        except (UserError, OSError):
            raise damage from None  # whose text says what to do without a network
        return _found_or_made(recipe, parent, sources, files)


def _recipe(name: str, input: str, layout: str, files: tuple[File, ...]) -> Recipe:
    return Recipe(name, input, layout, REAL, tuple(digest for file in files for digest in file.digests))


def _check(name: str, input: str, mirror: Path | None, registry: Registry) -> None:
    """Raises UserError unless the request makes sense."""
    if name not in registry and not name.endswith(".npz"):
        near = difflib.get_close_matches(name, registry, n=1)
        hint = f"did you mean {near[0]}" if near else f"choose from {', '.join(registry)}"
        raise UserError(f"there is no dataset {name}: {hint}, or name an .npz file")
    inputs = registry[name].inputs if name in registry else INPUTS
    if input not in inputs:
        raise UserError(f"{name} has no input {input}: choose from {', '.join(inputs)}")
    if mirror is not None and not mirror.is_dir():
        raise UserError(f"{mirror} is not a folder: give --data-dir or KBENCH_DATA one that exists")
