"""What a worker sends back is checked before it is written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from fake_bench import Bench

from kbench import store
from kbench.errors import UserError
from kbench.features.cluster import folder
from kbench.features.cluster import outputs as several_machines
from kbench.features.cluster.messages import Block, Result, Tried
from kbench.features.cluster.orders import Orders
from kbench.features.cluster.tables import machines_csv, table

BLOCK = Block(example="one", repeat=1)
CELL = {
    "example": "one", "backend": "keras9/fake", "image_data_format": "channels_last", "device": "cpu", "repeat": 1,
    "profile": "smoke", "batch_size": 8, "samples": 32, "validation_samples": 12, "epochs": 2, "seed": 0,
    "threads": 3,
}  # fmt: skip
ROW = "one__keras9-fake__channels_last__cpu"
ID = f"{ROW}__r1"
REQUEST = {"examples": ["one.py"], "backends": ["keras9/fake"], "profile": "smoke", "values": {}}
USUAL = {**REQUEST, "precision": 0.1, "budget": 600.0}  # as without --repeats
CHOSEN = {"device": ["cpu"], "threads": [3]}  # by the machine
AXES = ("example", "backend", "image_data_format", "device", "batch_size", "samples", "threads")


def run_json(*more: Mapping[str, Any], request: Mapping[str, Any] = REQUEST, **cell: Any) -> bytes:
    cells = [_cell({**CELL, **cell}), *(_cell({**CELL, **one}) for one in more)]
    plan = {"cells": cells, "backends": {}, "examples": {}}
    asked = {**request, "values": {**CHOSEN, **request["values"]}}
    whole = {"schema": 3, "name": "x", "created": "2026", "request": asked, "plan": plan, "provenance": {}}
    return json.dumps(whole).encode()


def _cell(told: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: told[name] for name in AXES if name in told} | {"task": "train"}
    return {**{name: of for name, of in told.items() if name not in AXES}, "values": values, "varied": []}


def sent(**files: bytes) -> Result:
    return Result(status="measured", files={"run.json": run_json(), f"cells/{ID}/outcome.json": b"{}", **files})


def cluster_run(bench: Bench, request: Mapping[str, Any] = REQUEST, name: str = "mine", **more: Any) -> Path:
    bench.example("one.py")
    bench.example("two.py")
    usual = {"blocks": (BLOCK, Block(example="two", repeat=1)), "device": "cpu"}
    record = folder.ClusterRun(on="x", request=request, argv=(), **{**usual, **more})
    return folder.create(bench.folder, record, name)


@pytest.fixture
def run(bench: Bench) -> Path:
    return cluster_run(bench)


def accept(run: Path, kind: str, block: Block, result: Result) -> None:
    folder.accept(run, kind, block, result, Orders(folder.read(run)).cells)


def everything(run: Path) -> list[Path]:
    return [path for path in run.rglob("*") if path.is_file()]


def test_a_block_is_kept_with_its_cells_and_counts_as_measured(run: Path) -> None:
    of_another_worker = {f"cells/{ID}/{name}": b"" for name in ("events.worker1.jsonl", "log.worker12.txt")}
    accept(run, "fast", BLOCK, sent(**of_another_worker))
    assert folder.finished_blocks(run) == {"one__r1"}
    assert all((run / "machines/fast" / name).is_file() for name in of_another_worker)
    folder.join(run, run / "machines/fast")
    assert [one.cell.id for one in store.read(run / "machines/fast").measured] == [ID]


@pytest.mark.parametrize(
    "name",
    [
        "../outside.json", "/etc/cron.d/x", "cells/../../x/outcome.json", f"cells/{ID}/../x.json", "cells/x/run.sh",
        "cells/.hidden/outcome.json", "report.html", f"cells/{ID}/keras_home/x.json", "locks/../x.lock", "a\0.json",
        "cells/..\\x/outcome.json/..", "locks/.lock",
        f"cells/{ID}/events.worker.jsonl", f"cells/{ID}/events.worker1.worker2.jsonl",
    ],
)  # fmt: skip
def test_a_file_that_is_none_of_a_blocks_is_refused_with_all_others(run: Path, name: str) -> None:
    before = everything(run)
    with pytest.raises(ValueError, match="does not belong to a block"):
        accept(run, "fast", BLOCK, sent(**{name: b"{}"}))
    assert everything(run) == before
    assert not folder.finished_blocks(run)


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"run.json": b"{"}, "damaged"),
        ({"run.json": run_json(example="two")}, "other cells"),
        ({"run.json": run_json().replace(b'"request"', b'"asked"')}, "is damaged: it has no schema, request"),
        ({"cells/another/outcome.json": b"{}"}, "other cells"),
        ({f"cells/{ID}/log.txt": b"x" * 2000}, "more than 0 MiB"),
        ({f"cells/{ID}/{name * 9}.txt": b"" for name in "abcdef"}, "more than 5 files"),
        ({"run.json": run_json({})}, "other cells"),
        ({"run.json": run_json(repeat=2)}, "other cells"),
        ({"run.json": run_json({"repeat": 2})}, "other cells"),
        ({"run.json": run_json({"backend": "keras9/other"})}, "other cells"),
        ({"run.json": run_json(backend="keras9/other")}, "other cells"),
        ({"run.json": run_json(samples=48)}, "other cells"),
        ({"run.json": run_json(seed=1)}, "other cells"),
        ({"run.json": run_json(device="gpu:0")}, "other cells"),
        ({"run.json": run_json(threads=4)}, "other cells"),
        ({"run.json": run_json(device="gpu:0", request={**REQUEST, "device": ["gpu:0"]})}, "other cells"),
        ({"locks/keras9-other.lock": b""}, "other cells"),
        ({"run.json": run_json(request={**REQUEST, "extra_repeats": [1]})}, "is damaged"),
        ({"cells/" + 300 * "a" + "/log.txt": b""}, "does not belong to a block"),
        ({"locks/" + 300 * "a" + ".lock": b""}, "does not belong to a block"),
    ],
)
def test_a_result_of_something_else_is_refused(
    run: Path, files: Mapping[str, bytes], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "MOST_BYTES", 1900)
    monkeypatch.setattr(folder, "MOST_FILES", 5)
    with pytest.raises(ValueError, match=says):
        accept(run, "fast", BLOCK, sent(**files))
    assert not folder.finished_blocks(run)


def test_a_block_that_was_half_kept_by_a_client_that_was_killed_is_kept_whole(run: Path) -> None:
    half = run / "machines/fast/cells" / ID
    half.mkdir(parents=True)
    (half / "log.txt").write_text("old")
    accept(run, "fast", BLOCK, sent())
    assert sorted(path.name for path in half.iterdir()) == ["outcome.json"]


def test_a_machine_chooses_its_devices_as_far_as_it_was_asked_to(bench: Bench) -> None:
    chosen = {"device": ["cpu", "gpu:1"]}
    on_gpu = {"device": "gpu:1", "image_data_format": "channels_first"}
    result = sent(**{"run.json": run_json(on_gpu, request={**REQUEST, "values": chosen})})
    accept(cluster_run(bench, device="cpu,gpu", name="any"), "fast", BLOCK, result)
    with pytest.raises(ValueError, match="there is no such GPU; this machine has gpu:1"):
        accept(cluster_run(bench, device="cpu,gpu:0"), "fast", BLOCK, result)


@pytest.mark.parametrize(
    ("places", "added"),
    [
        ([(2, 0)], {"extra_repeats": {ROW: [2]}}),
        ([(2, 1), (2, 2)], {"short": {ROW: [[2, 1], [2, 2]]}}),
    ],
)
def test_further_processes_of_a_row_belong_to_its_block_and_are_in_the_joined_run(
    bench: Bench, places: Sequence[tuple[int, int]], added: Mapping[str, Any]
) -> None:
    run = cluster_run(bench, USUAL)
    more = [{"repeat": repeat, "timing": timing} for repeat, timing in places]
    accept(run, "fast", BLOCK, sent(**{"run.json": run_json(*more, request={**USUAL, **added})}))
    folder.join(run, run / "machines/fast")
    joined = store.read(run / "machines/fast")
    assert [one.cell.place for one in (*joined.measured, *joined.short)] == [(1, 0), *places]
    asked = {name: joined.request[name] for name in ("extra_repeats", "short")}
    assert asked == {"extra_repeats": {}, "short": {}, **added}, "resume finds them there"


@pytest.mark.parametrize(
    ("asked", "added", "cells"),
    [
        (REQUEST, {"short": {ROW: [[2, 1]]}}, [{"repeat": 2, "timing": 1}]),  # each cell once, as --repeats says
        (REQUEST, {"extra_repeats": {ROW: [2]}}, [{"repeat": 2}]),
        ({**USUAL, "interleave": "off"}, {"short": {ROW: [[2, 1]]}}, [{"repeat": 2, "timing": 1}]),
        (USUAL, {"short": {ROW: [[2, 1]]}}, [{"repeat": 2, "timing": 2}]),
        (USUAL, {"short": {ROW: [[2, 1]]}}, [{"repeat": 2, "timing": 1, "backend": "keras9/other"}]),
        (USUAL, {"short": {ROW: [[2, 1]]}}, [{"repeat": 2, "timing": 1, "samples": 48}]),
        (USUAL, {"short": {ROW: [[2, 1]]}}, [{"repeat": 2, "timing": 1}] * 2),
        (USUAL, {"short": {ROW: [[2, 1]]}}, []),
        (USUAL, {"short": {"two__keras9-fake__channels_last__cpu": [[2, 1]]}}, [{"example": "two", "timing": 1}]),
    ],
)
def test_further_processes_that_no_plan_of_the_request_has_are_refused(
    bench: Bench, asked: Mapping[str, Any], added: Mapping[str, Any], cells: Sequence[Mapping[str, Any]]
) -> None:
    run = cluster_run(bench, asked)
    with pytest.raises(ValueError, match="other cells"):
        accept(run, "fast", BLOCK, sent(**{"run.json": run_json(*cells, request={**asked, **added})}))
    assert not folder.finished_blocks(run)


@pytest.mark.parametrize(
    ("cases", "backend", "says"),
    [({"keras9": {}}, "keras9/fake", "its cases cannot be read"), ({"keras8": []}, "keras8/old", "other cells")],
)
def test_of_a_coverage_run_a_block_is_a_generation_with_its_cases(
    bench: Bench, cases: Mapping[str, Any], backend: str, says: str
) -> None:
    block = Block(example="keras9", repeat=1)
    whole = json.loads(run_json(backend=backend))
    whole["plan"]["cases"] = cases
    cell = ID.replace("keras9-fake", backend.replace("/", "-"))
    files = {"run.json": json.dumps(whole).encode(), f"cells/{cell}/outcome.json": b"{}"}
    run = cluster_run(bench, blocks=(block,), tried=Tried(only="", quick=False))
    with pytest.raises(ValueError, match=says):
        accept(run, "fast", block, Result(status="measured", files=files))
    assert not folder.finished_blocks(run)


def test_a_run_whose_folder_is_gone_is_not_made_anew(run: Path) -> None:
    run.rename(run.with_name("moved"))
    with pytest.raises(UserError, match="Cannot read"):
        accept(run, "fast", BLOCK, sent())
    assert not run.exists()


def test_a_damaged_block_is_named(run: Path) -> None:
    accept(run, "fast", BLOCK, sent())
    (run / "machines/fast/blocks/one__r1.json").write_text("{}")
    with pytest.raises(UserError, match=r"one__r1\.json lacks a part of the plan"):
        folder.join(run, run / "machines/fast")


def test_a_run_that_may_only_be_read_is_joined(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accept(run, "fast", BLOCK, sent())
    folder.join(run, run / "machines/fast")
    monkeypatch.setattr(Path, "replace", None)
    folder.join(run, run / "machines/fast")


def test_two_machines_that_tell_the_same_name_have_a_table_each(run: Path) -> None:
    for kind in ("fast", "slow"):
        accept(run, kind, BLOCK, sent())
        folder.join(run, run / "machines" / kind)
    rows = several_machines.rows_of(several_machines.by_kind([store.read(one) for one in store.machines(run)]))
    assert list(rows) == ["unknown processor", "unknown processor (slow)"]
    header, *lines = machines_csv(rows).splitlines()
    assert header.endswith(",machine") and [line.rpartition(",")[2] for line in lines] == list(rows)
    assert table(rows).columns == ("example", "backend", *rows) and len(table(rows).rows) == 1
