"""Sends each dataset to the module that makes its arrays."""

from __future__ import annotations

from pathlib import Path

from kbench.datasets import arrays, babi, cifar10, imdb, mnist, npz, prepared, random_images, synthetic
from kbench.datasets.arrays import Contents, Create, Write
from kbench.datasets.prepared import Recipe
from kbench.datasets.registry import File
from kbench.values import Data


def published(recipe: Recipe, parent: Path, files: tuple[File, ...], sources: tuple[Path, ...]) -> Data:
    """Makes a dataset from its published files, which lie at `sources`. Raises UserError."""

    def write(create: Create) -> Contents:
        match recipe.name:
            case "mnist":
                return mnist.write(create, files, sources, recipe.input, recipe.layout)
            case "cifar10":
                return cifar10.write(create, files[0], sources[0], recipe.input, recipe.layout)
            case "babi_qa2":
                return babi.write(create, files[0], sources[0])
            case "imdb":
                return imdb.write(create, files[0], sources[0])
        raise LookupError(recipe.name)

    return _make(recipe, parent, write)


def generated(recipe: Recipe, parent: Path) -> Data:
    """Makes a dataset that needs no files: random_images, or a synthetic stand-in. Raises UserError."""

    def write(create: Create) -> Contents:
        match recipe.name:
            case "mnist":
                return synthetic.pictures(create, (28, 28, 1), (60_000, 10_000), recipe.input, recipe.layout)
            case "cifar10":
                return synthetic.pictures(create, (32, 32, 3), (50_000, 10_000), recipe.input, recipe.layout)
            case "babi_qa2":
                return synthetic.babi(create)
            case "imdb":
                return synthetic.imdb(create)
            case "random_images":
                return random_images.write(create, recipe.samples or random_images.SAMPLES, recipe.layout)
        raise LookupError(recipe.name)

    return _make(recipe, parent, write)


def own(recipe: Recipe, parent: Path, path: Path) -> Data:
    """Makes a dataset from the user's own .npz file at `path`. Raises UserError."""
    return _make(recipe, parent, lambda create: npz.write(create, path, recipe.input, recipe.layout))


def _make(recipe: Recipe, parent: Path, write: Write) -> Data:
    def fill(folder: Path) -> dict[str, object]:
        contents, described, sha256 = arrays.write_arrays(folder, write, recipe.layout)
        return {
            "num_classes": contents.num_classes,
            "divisor": contents.divisor,
            "arrays": described,
            "sha256": sha256,
        }

    return prepared.make(recipe, parent, fill)
