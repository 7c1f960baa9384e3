"""Prepares datasets as plain arrays in the cache, from a local folder, a download or a generator."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from kbench.base import paths
from kbench.base.arrays import Data
from kbench.datasets import archives, fetch, origins, prepared
from kbench.datasets.origins import REAL, SYNTHETIC, MissingFile, MissingFiles, Needed, Origin, describe
from kbench.datasets.prepared import Recipe
from kbench.datasets.registry import REGISTRY, Registry, RemoteFile
from kbench.errors import UserError
from kbench.words.text import meant

INPUTS = ("image", "flat", "sequence")

__all__ = [
    "INPUTS", "REAL", "SYNTHETIC", "MissingFile", "MissingFiles", "Needed", "Origin", "cache_folder", "describe",
    "is_published", "names", "origin", "prepare", "title",
]  # fmt: skip


def names() -> tuple[str, ...]:
    """The datasets with a name; any .npz file is a dataset, too."""
    return tuple(REGISTRY)


def title(name: str) -> str:
    """A line about the dataset `name`, or the path itself if it is the user's own file."""
    return REGISTRY[name].title if name in REGISTRY else name


def is_published(name: str) -> bool:
    """Whether there are real data of that name, and synthetic ones in their place; other data are only themselves."""
    return name in REGISTRY and bool(REGISTRY[name].variants)


def cache_folder() -> Path:
    """The folder of downloads, in `files`, and of prepared arrays."""
    return paths.cache_folder() / "data"


def origin(name: str, forms: Collection[tuple[str, str]], needed: Needed, mirror: Path | None) -> Origin:
    """Where a published dataset would come from, in each (input, image_data_format) of `forms`.

    Downloads nothing. Asks addresses, for some seconds at most, if it is not on this machine.
    """
    _check_folder(mirror)
    laid_out = {(input, _layout(input, form)) for input, form in forms}
    return origins.find(name, REGISTRY[name], laid_out, needed, mirror, cache_folder())


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
    needed: Needed = None,
    registry: Registry = REGISTRY,
) -> Data:
    """The dataset `name` as arrays in the cache; created by the first call, found in milliseconds later.

    `name` is one of `names()` or the path of the user's own .npz file. `input` is "image" (in the given
    image_data_format), "flat" or "sequence". `source` is "real", or "synthetic" for generated data of the same
    shapes; the user's own file is always used itself. `mirror` is a folder with the published files, searched
    first. `cache` is the folder for downloads and arrays. `samples` limits only random_images. `needed` are the
    samples that are taken: what comes with kbench serves if it has as many. Raises MissingFiles; UserError for wrong
    requests, and if data cannot be read or written.
    """
    _check(name, input, mirror, registry)
    folder = cache_folder() if cache is None else cache
    layout = _layout(input, image_data_format)
    parent = folder / "prepared"
    if name not in registry:
        from kbench.datasets import npz

        path = Path(name).expanduser().absolute()
        return _found_or_made(Recipe(path.name, input, layout, REAL, (npz.digest(path),)), parent, (path,))
    if not registry[name].variants or source == SYNTHETIC:
        limit = samples if name == "random_images" else None
        return _found_or_made(Recipe(name, input, layout, SYNTHETIC, (), limit), parent)
    return _published(name, input, layout, needed, mirror, folder, progress, registry)


def _layout(input: str, image_data_format: str) -> str:
    return image_data_format if input == "image" else "any"


def _found_or_made(
    recipe: Recipe, parent: Path, sources: tuple[Path, ...] = (), files: tuple[RemoteFile, ...] = (), sha256: str = ""
) -> Data:
    found = prepared.find(recipe, parent)
    if found is not None:
        return found
    # Imported only where something must be made: numpy costs more than all else here.
    from kbench.datasets import making

    return making.make(recipe, parent, sources, files, sha256)


def _published(
    name: str,
    input: str,
    layout: str,
    needed: Needed,
    mirror: Path | None,
    folder: Path,
    progress: bool,
    registry: Registry,
) -> Data:
    parent, brought, dataset = folder / "prepared", folder / "files", registry[name]
    # Files on this machine are preferred, then arrays that were prepared earlier, then kbench's own, then a download.
    present = origins.present(dataset, mirror, brought)
    for files in (present,) if present else dataset.variants:
        found = prepared.find(origins.recipe(name, input, layout, files), parent)
        if found is not None:
            return found
    shipped = dataset.shipped
    if not present and shipped and origins.enough(shipped, needed):
        recipe = origins.recipe(name, input, layout, shipped.files)
        whole = shipped.sha256.get(input, "")
        return _found_or_made(recipe, parent, origins.shipped_paths(shipped), shipped.files, whole)
    files = present or origins.to_download(dataset)
    sources = _obtained(files, mirror, brought, progress)
    recipe = origins.recipe(name, input, layout, files)
    try:
        return _found_or_made(recipe, parent, sources, files)
    except archives.Damaged as damage:  # by the disk, or an old download
        try:
            for file, path in zip(files, sources, strict=True):
                fetch.renew(file, path, brought, progress=progress)
        except (fetch.NotDownloaded, UserError, OSError):
            raise damage from None  # whose text says what to do without a network
        return _found_or_made(recipe, parent, sources, files)


def _obtained(files: tuple[RemoteFile, ...], mirror: Path | None, brought: Path, progress: bool) -> tuple[Path, ...]:
    """The paths of the files. Raises MissingFiles with all that are missing."""
    found, missing = list[Path](), list[MissingFile]()
    for file in files:
        try:
            found.append(fetch.obtain(file, mirror, brought, progress=progress))
        except fetch.NotDownloaded as error:
            missing.append(MissingFile(file, str(error)))
    if missing:
        raise MissingFiles(missing, brought)
    return tuple(found)


def _check(name: str, input: str, mirror: Path | None, registry: Registry) -> None:
    """Raises UserError unless the request makes sense."""
    if name not in registry and not name.endswith(".npz"):
        near = meant(name, registry)
        hint = f"did you mean {near}" if near else f"choose from {', '.join(registry)}"
        raise UserError(f"there is no dataset {name}: {hint}, or name an .npz file")
    inputs = registry[name].inputs if name in registry else INPUTS
    if input not in inputs:
        raise UserError(f"{name} has no input {input}: choose from {', '.join(inputs)}")
    _check_folder(mirror)


def _check_folder(mirror: Path | None) -> None:
    if mirror is not None and not mirror.is_dir():
        raise UserError(f"{mirror} is not a folder: give KBENCH_DATA one that exists")
