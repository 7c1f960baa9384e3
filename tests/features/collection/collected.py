"""Test helper: a small run that was really measured, as a folder that forgers can edit, and a collection for it."""

from __future__ import annotations

import io
import json
import lzma
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from kbench import store
from kbench.analysis.rows import Analysis
from kbench.features.collection import collection
from kbench.features.collection.admit import Answer, admit
from kbench.features.collection.collection import Collection
from kbench.selection.known import known_examples
from kbench.store import packed
from kbench.tables.csv import summary_csv

CHECKOUT = Path(__file__).parents[3]
EXAMPLE, BACKENDS = "mnist_mlp", ("keras3/jax", "keras3/torch")
ROW = "mnist_mlp__keras3-jax__channels_last__cpu"
TERMS = """
title = "Of a test"
kbench = ["{version}"]
"""


def honest_run(folder: Path) -> Path:
    """The reference run's processes of an example on two backends, unpacked, as if no others had been asked for."""
    run = folder / "honest"
    shutil.copyfile(CHECKOUT / "results" / "reference.kbench.zip", packed.packed_file(run))
    store.unpack(run)
    packed.packed_file(run).unlink()
    sha256 = known_examples()[EXAMPLE].sha256  # of today's file: that the reference is of this one is another test's

    def one_example(record: dict[str, Any]) -> None:
        cells = [one for one in record["plan"]["cells"] if _is_of(one["values"])]
        record["name"], record["plan"]["cells"] = run.name, cells
        record["plan"]["examples"] = {EXAMPLE: record["plan"]["examples"][EXAMPLE] | {"sha256": sha256}}
        record["plan"]["backends"] = {name: record["plan"]["backends"][name] for name in BACKENDS}
        record["provenance"]["ended"]["time"] = "2026-11-27T01:00:07+00:00"  # two minutes after its begin
        record["request"] |= {"backends": BACKENDS, "examples": [f"~/kbench/examples_models/{EXAMPLE}.py"]}

    edit_json(run / "run.json", one_example)
    kept = {one.id for one in store.read_record(run).cells}
    for cell in (run / "cells").iterdir():
        if cell.name not in kept:
            shutil.rmtree(cell)
        else:
            edit_json(cell / "spec.json", lambda spec: spec.update(example_sha256=sha256))
    (run / "summary.csv").write_text(summary_csv(Analysis(store.read(run)).rows))
    return run


def _is_of(values: Mapping[str, Any]) -> bool:
    return values["example"] == EXAMPLE and values["backend"] in BACKENDS


def edit_json(file: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    value = json.loads(file.read_text())
    edit(value)
    file.write_text(json.dumps(value))


def edit_events(cell: Path, edit: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    """Replace each event of a cell by what `edit` returns; None leaves it out."""
    events = [json.loads(line) for line in (cell / "events.jsonl").read_text().splitlines()]
    edited = [json.dumps(new) for one in events if (new := edit(one)) is not None]
    (cell / "events.jsonl").write_text("\n".join(edited) + "\n")


def cells(run: Path, repeat: str = "") -> list[Path]:
    """The folders of its cells; of one repeat."""
    return sorted((run / "cells").glob(f"*{repeat and f'__r{repeat}'}"))


def new_collection(folder: Path, run: Path, more: str = "") -> Collection:
    """An empty one that takes runs of that run's kbench."""
    version = json.loads((run / "run.json").read_text())["provenance"]["kbench"]["version"]
    folder.mkdir()
    (folder / collection.FILE).write_text(TERMS.format(version=version) + more)
    return collection.read(folder)


def submit(run: Path, to: Collection) -> Answer:
    """The answer to the run, packed."""
    pack = packed.packed_file(run)
    store.pack(run, pack)
    return admit(pack, to)


def zipped(to: Path, members: Iterable[tuple[tarfile.TarInfo, bytes]], comment: bytes = b"") -> Path:
    """A file that looks like a packed run, with these members."""
    tar, made = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        for entry, content in members:
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    with zipfile.ZipFile(made, "w") as outer:
        outer.comment = comment or b"kbench: a packed run, form 1"
        outer.writestr("x.tar.xz", lzma.compress(tar.getvalue(), preset=0))
    to.write_bytes(made.getvalue())
    return to
