"""Forgeries, each made from a run that was really measured, are refused for what gives them away."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from collected import ROW, cells, edit_events, edit_json, honest_run, new_collection, submit, zipped

from kbench.features.collection import work
from kbench.features.collection.admit import admit
from kbench.store import packed

Forgery = Callable[[Path], None]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return honest_run(tmp_path_factory.mktemp("honest"))


@pytest.fixture(autouse=True)
def in_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "_HOW", 0)
    monkeypatch.setattr(packed, "MOST_BYTES", 1 << 23)
    monkeypatch.setattr(work, "_at", lambda commit, name: b"the file of that version")


def scaled(event: dict[str, Any], factor: float, *also: str) -> dict[str, Any]:
    """An event with its epoch's seconds times a factor; and `also` its steps, its phases, its end."""
    kind = event["event"]
    if kind == "epoch":
        steps = [factor * one for one in event["step_seconds"]] if "steps" in also else event["step_seconds"]
        event |= {"seconds": factor * event["seconds"], "step_seconds": steps}
        if "all" in also:
            event["evaluation_seconds"] *= factor
    if (kind == "phase" and ("all" in also or (event["name"] == "first_epoch" and "first" in also))) or (
        kind == "end" and "all" in also
    ):
        event["seconds"] *= factor
    return event


def times(factor: float, *also: str) -> Forgery:
    """Scales the times of the first row's processes."""

    def forge(run: Path) -> None:
        for cell in sorted((run / "cells").glob(f"{ROW}*")):
            edit_events(cell, lambda event: scaled(event, factor, *also))
            if "all" in also:
                edit_json(cell / "outcome.json", lambda outcome: outcome.update(seconds=factor * outcome["seconds"]))
            if "notes" in also:
                edit_json(
                    cell / "outcome.json",
                    lambda outcome: outcome.update(memory=[[factor * at, mib] for at, mib in outcome["memory"]]),
                )

    return forge


def of_run(edit: Callable[[dict[str, Any]], object]) -> Forgery:
    return lambda run: edit_json(run / "run.json", edit)


def of_events(edit: Callable[[dict[str, Any]], dict[str, Any] | None], repeat: str = "") -> Forgery:
    """Edits the events of all cells, or of one repeat's."""

    def forge(run: Path) -> None:
        for cell in cells(run, repeat):
            edit_events(cell, edit)

    return forge


def of_files(name: str, edit: Callable[[dict[str, Any]], object], repeat: str = "") -> Forgery:
    def forge(run: Path) -> None:
        for cell in cells(run, repeat):
            edit_json(cell / name, edit)

    return forge


def both(*forgeries: Forgery) -> Forgery:
    def forge(run: Path) -> None:
        for one in forgeries:
            one(run)

    return forge


def changed(kind: str, **values: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda event: event | values if event["event"] == kind else event


def without_last_epoch(event: dict[str, Any]) -> dict[str, Any] | None:
    return None if event.get("epoch") == 8 else event


def one_epoch_fewer(record: dict[str, Any]) -> None:
    for cell in record["plan"]["cells"]:
        cell["epochs"] = 7


def another_seed(record: dict[str, Any]) -> None:
    record["request"]["seed"] = 1
    for cell in record["plan"]["cells"]:
        cell["seed"] = 1


def copied(run: Path) -> None:
    for name in ("events.jsonl", "outcome.json"):
        shutil.copyfile(run / "cells" / f"{ROW}__r1" / name, run / "cells" / f"{ROW}__r2" / name)


def without_slowest_repeat(run: Path) -> None:
    def left_out(record: dict[str, Any]) -> None:
        record["plan"]["cells"] = [one for one in record["plan"]["cells"] if one["repeat"] != 2]

    edit_json(run / "run.json", left_out)
    for cell in cells(run, "2"):
        shutil.rmtree(cell)


def summary_edited(run: Path) -> None:
    lines = (run / "summary.csv").read_text().split("\n")
    fields = lines[1].split(",")
    fields[8] = str(float(fields[8]) / 2)
    (run / "summary.csv").write_text("\n".join([lines[0], ",".join(fields), *lines[2:]]))


def renamed(run: Path) -> None:
    old, new = "keras3/torch", "keras3/<script>alert(1)<.script>"
    text = (run / "run.json").read_text().replace(old, new)
    (run / "run.json").write_text(text)
    for cell in (run / "cells").glob("*torch*"):
        edit_json(cell / "spec.json", lambda spec: spec.update(backend=new))
        cell.rename(cell.with_name(cell.name.replace("keras3-torch", "keras3-<script>alert(1)<.script>")))


def no_host_log(run: Path) -> None:
    (run / "cells" / f"{ROW}__r2" / "outcome.json").unlink()


def damaged_events(run: Path) -> None:
    with (run / "cells" / f"{ROW}__r1" / "events.jsonl").open("a") as file:
        file.write("{\n")


def escaped_slashes(run: Path) -> None:
    text = (run / "run.json").read_text()
    (run / "run.json").write_text(text.replace('"data_dir": null', '"data_dir": "\\/home\\/alice"'))


def overlapping(event: dict[str, Any]) -> dict[str, Any]:
    if event["event"] == "epoch" and len(event["rounds"]) > 1:
        first, second, *others = event["rounds"]
        event["rounds"] = [first, [second[0], first[1], *second[2:]], *others]
    return event


FORGERIES: dict[str, tuple[Forgery, str, str]] = {
    "epochs that are faster than their steps": (times(0.5), "epochs", "its steps add up to"),
    "epochs and steps that are faster": (times(0.5, "steps"), "processes", "by the process's clock"),
    "and the first epoch, too": (times(0.1, "steps", "first"), "processes", "are phases and epochs"),
    "slower ones": (times(9.0, "steps", "first"), "processes", "its epochs add up to"),
    "and whole processes": (times(0.1, "steps", "all"), "processes", "noted its memory up to"),
    "and the host's notes": (times(99.0, "steps", "all", "notes"), "clock", "one process at a time, add up to"),
    "a dropped epoch": (of_events(without_last_epoch, "1"), "cells", "7 of 8 epochs are left"),
    "epochs that are dropped everywhere": (
        both(
            of_events(without_last_epoch),
            of_run(one_epoch_fewer),
            of_files("spec.json", lambda spec: spec.update(epochs=7)),
        ),
        "seeds",
        "not in the order that seed 0 gives",
    ),
    "an epoch of other samples": (of_events(changed("received", samples=128)), "epochs", "and received 128"),
    "events of another seed": (
        both(of_run(another_seed), of_files("spec.json", lambda spec: spec.update(seed=1))),
        "seeds",
        "not in the order that seed 1 gives",
    ),
    "another seed in the plan alone": (of_run(another_seed), "cells", "run.json says seed 1"),
    "weights of another seed": (
        of_events(changed("model", weights_sha256="0" * 64), "2"),
        "seeds",
        "initial weights",
    ),
    "an edited summary": (summary_edited, "summary", "summary.csv says epoch_seconds"),
    "a copied process": (copied, "copies", "to the last digit"),
    "a left out repeat": (without_slowest_repeat, "cells", "its repeat 2 is missing"),
    "a removed log of the host": (no_host_log, "cells", "stopped before it ended"),
    "removed notes of memory": (
        of_files("outcome.json", lambda one: one.update(memory=[])),
        "processes",
        "no memory",
    ),
    "a removed end": (
        of_run(lambda record: record["provenance"].pop("ended")),
        "clock",
        "began and ended are missing",
    ),
    "a run that ended before": (
        of_run(lambda record: record["provenance"]["ended"].update(time="2026-11-27T00:58:12+00:00")),
        "clock",
        "one process at a time, add up to",
    ),
    "a run that is still to come": (
        of_run(lambda record: record["provenance"]["ended"].update(time="2999-01-01T00:00:00+00:00")),
        "clock",
        "still to come",
    ),
    "the model of another example": (
        of_events(changed("model", parameters=1199882)),
        "examples",
        "1,199,882 parameters, and the example's 669,706",
    ),
    "another file of the example": (
        both(
            of_run(lambda record: record["plan"]["examples"]["mnist_mlp"].update(sha256="0" * 64)),
            of_files("spec.json", lambda spec: spec.update(example_sha256="0" * 64)),
        ),
        "examples",
        "its file is not that of",
    ),
    "another version of kbench": (
        of_run(lambda record: record["provenance"]["kbench"].update(version="9.9")),
        "version",
        "measured by kbench 9.9",
    ),
    "a changed kbench": (
        of_run(lambda record: record["provenance"]["kbench"].update(dirty=True)),
        "version",
        "changed files",
    ),
    "another version of Keras": (
        of_events(changed("loaded", keras_version="3.99")),
        "packages",
        "reports Keras 3.99",
    ),
    "a name with markup": (renamed, "names", "is no plain name"),
    "overlapping turns": (of_events(overlapping), "turns", "overlap"),
    "a loss in one repeat": (
        of_events(lambda e: e | {"loss": 1e-3} if e["event"] == "epoch" else e, "3"),
        "seeds",
        "its loss",
    ),
    "a machine without a processor": (
        of_run(lambda record: record["provenance"].pop("cpu")),
        "machine",
        "its processor",
    ),
    "a user's name": (
        of_run(lambda record: record["request"].update(data_dir="/home/alice/data")),
        "personal data",
        "user's",
    ),
    "the same, with escaped slashes": (escaped_slashes, "personal data", "user's name in a path"),
    "an e-mail address": (
        of_events(lambda e: e | {"device": "of a.lice@example.org"} if e["event"] == "device" else e),
        "personal data",
        "e-mail",
    ),
    "a host's name": (of_run(lambda record: record["provenance"].update(hostname="deep")), "personal data", "a host"),
    "a token": (
        of_run(lambda record: record["provenance"].update(command_line="ghp_" + "a" * 36)),
        "secrets",
        "token",
    ),
    "a password": (of_run(lambda record: record["request"].update(api_key="squeamish")), "secrets", "api_key"),
    "a later schema": (of_run(lambda record: record.update(schema=99)), "archive", "newer kbench"),
    "damaged events": (damaged_events, "cells", "cannot be read"),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forgery_is_refused_for_what_gives_it_away(forgery: str, honest: Path, tmp_path: Path) -> None:
    forge, check, reason = FORGERIES[forgery]
    run = shutil.copytree(honest, tmp_path / "forged")
    forge(run)
    answer = submit(run, new_collection(tmp_path / "to", honest))
    reasons = {one.name: " / ".join(one.refused) for one in answer.refused}
    assert reason in reasons.get(check, ""), answer.lines
    assert answer.lines[0].startswith("Refused: forged")


def test_the_run_that_they_are_made_from_is_admitted(honest: Path, tmp_path: Path) -> None:
    answer = submit(honest, new_collection(tmp_path / "to", honest))
    assert not answer.refused, answer.lines
    assert {one.name for one in answer.checks if one.not_made} == {"other runs", "other machines", "replay"}


def test_what_nothing_in_a_run_contradicts_other_runs_of_the_collection_do(honest: Path, tmp_path: Path) -> None:
    to = new_collection(tmp_path / "to", honest)
    first = shutil.copytree(honest, tmp_path / "first")
    assert not submit(first, to).refused
    (to.folder / "runs").mkdir()
    shutil.copyfile(packed.packed_file(first), to.folder / "runs" / "first.kbench.zip")
    faster, better = (shutil.copytree(honest, tmp_path / name) for name in ("faster", "better"))
    for cell in cells(faster):
        edit_events(cell, lambda event: scaled(event, 0.3, "steps", "all"))
        edit_json(
            cell / "outcome.json",
            lambda one: one.update(
                seconds=0.3 * one["seconds"], memory=[[0.3 * at, mib] for at, mib in one["memory"]]
            ),
        )
    for cell in cells(better):
        edit_events(cell, lambda event: event | {"loss": event["loss"] / 2} if event["event"] == "epoch" else event)
    (faster / "summary.csv").unlink()
    (refused,) = submit(faster, to).refused
    assert refused.name == "other machines" and "on other machines of the kind (1)" in refused.refused[0]
    refusals = {one.name: one.refused for one in submit(better, to).refused}
    assert "and in first" in refusals["other runs"][0]
    assert "in first, to the last digit" in refusals["copies"][0]


def test_an_archive_that_is_none_of_a_run_is_refused(honest: Path, tmp_path: Path) -> None:
    to, run = new_collection(tmp_path / "to", honest), ("x/run.json", (honest / "run.json").read_bytes())
    link = tarfile.TarInfo("x/cells/a/outcome.json")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    hostile = {
        "links": [(link, b"")],
        "absolute": [(tarfile.TarInfo("/etc/passwd"), b"")],
        "outside": [(tarfile.TarInfo("x/../../run.json"), b"")],
        "twice": [(tarfile.TarInfo(run[0]), run[1])],
        "bomb": [(tarfile.TarInfo("x/stdin"), bytes(packed.MOST_BYTES))],
        "program": [(tarfile.TarInfo("x/cells/a/evil.py"), b"")],
    }
    for name, members in hostile.items():
        pack = zipped(tmp_path / f"{name}.kbench.zip", [(tarfile.TarInfo(run[0]), run[1]), *members])
        (refused,) = admit(pack, to).refused
        assert refused.name == "archive" and "is damaged, or no run that kbench packed" in refused.refused[0]
    pack.write_bytes(json.dumps("no zip").encode())
    assert "no run that kbench packed" in admit(pack, to).refused[0].refused[0]
