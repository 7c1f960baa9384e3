"""Calls the module that prepares a dataset's arrays."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from kbench.base.arrays import Data
from kbench.datasets import arrays, babi, cifar10, imdb, mnist, npz, prepared, shakespeare, synthetic
from kbench.datasets.arrays import Contents, Create
from kbench.datasets.prepared import Recipe
from kbench.datasets.registry import RemoteFile


def make(
    recipe: Recipe,
    parent: Path,
    sources: tuple[Path, ...] = (),
    files: tuple[RemoteFile, ...] = (),
    sha256: str = "",
) -> Data:
    """Makes a dataset in a folder of `parent`.

    `sources` are its published files, described by `files`, or the user's own .npz file; none if it is generated.
    `sha256` is the hash of the whole dataset, if the files are only its beginning. Raises UserError.
    """
    write = partial(_write, recipe=recipe, sources=sources, files=files)

    def fill(folder: Path) -> dict[str, object]:
        made = arrays.write_arrays(folder, write, recipe.layout)
        return {**made, "sha256": sha256} if sha256 else made

    return prepared.make(recipe, parent, fill)


def _write(create: Create, recipe: Recipe, sources: tuple[Path, ...], files: tuple[RemoteFile, ...]) -> Contents:
    form = (recipe.input, recipe.layout)
    match recipe.source, recipe.name:
        case _, "random_images":
            return synthetic.random_images(create, recipe.samples or synthetic.RANDOM_IMAGES, recipe.layout)
        case "synthetic", "mnist":
            return synthetic.images(create, (28, 28, 1), (60_000, 10_000), *form)
        case "synthetic", "cifar10":
            return synthetic.images(create, (32, 32, 3), (50_000, 10_000), *form)
        case "synthetic", "babi_qa2":
            return synthetic.babi(create)
        case "synthetic", "imdb":
            return synthetic.imdb(create)
        case "synthetic", "shakespeare":
            return shakespeare.pieces(create, synthetic.play())
        case _, "mnist":
            return mnist.write(create, files, sources, *form)
        case _, "cifar10":
            return cifar10.write(create, files[0], sources[0], *form)
        case _, "babi_qa2":
            return babi.write(create, files[0], sources[0])
        case _, "imdb":
            return imdb.write(create, files[0], sources[0])
        case _, "shakespeare":
            return shakespeare.write(create, files[0], sources[0])
    return npz.write(create, sources[0], *form)
