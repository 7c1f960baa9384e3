"""Damaged or malformed files: kbench uses the rest or refuses with one sentence, never with a traceback."""

from __future__ import annotations

import json
import os
import shutil
import string
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_backends import FAKE_TOML, write_fake
from fake_bench import Bench, refused, write_patterns
from fake_runs import cell, fake_run
from hypothesis import given, settings
from hypothesis import strategies as st

from kbench import store
from kbench.analysis.summaries import summarise
from kbench.errors import UserError
from kbench.outputs import one_run
from kbench.outputs.told import ToldRun
from kbench.records.values import FAILED, OK, Backend, Outcome
from kbench.selection import backends

RUN = ("--backends", "fake", "--examples", "my_example.py", "--profile", "smoke", "--device", "cpu")
FEWER = settings(max_examples=25)  # where each makes all tables and the report

NUMBERS = st.one_of(st.integers(-(10**30), 10**30), st.floats(), st.booleans())
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.recursive(
    st.one_of(st.none(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=5,
)


def one_sentence(error: UserError) -> None:
    assert str(error) and len(str(error).splitlines()) == 1, str(error)


def check(bench: Bench, arguments: tuple[str, ...], *words: str) -> None:
    """Status 2, one sentence with these words, and nothing written."""
    before = {path: path.read_bytes() if path.is_file() else b"" for path in bench.folder.rglob("*")}
    said = bench(*arguments)
    refused(said, *words)
    assert "Traceback" not in said.out
    assert {path: path.read_bytes() if path.is_file() else b"" for path in bench.folder.rglob("*")} == before


REQUESTS = [
    (("clean", "everything"), "`clean` does not know 'everything'", "environments"),
    (("clean", "results"), "`clean` does not know 'results'"),
    (("clean", "data", "environments"), "Unrecognized arguments: environments"),
    (("clean", "/"), "does not know '/'"),
    (("clean", ".."), "does not know '..'"),
    (("clean", "--force"), "Unrecognized arguments: --force"),
    (("doctor", "fake"), "Unrecognized arguments: fake"),
    (("doctor", "--python", "fake=no/such/python"), "there is no Python at"),
    (("doctor", "--device", "gpu:9"), "no NVIDIA GPU was found"),
    (("parity", "--backends", "fake", "--examples", "my_example.py", "--form", "wrong"), "there is no 'wrong'"),
    (("parity",), "required: --backends"),
    (("setup",), "required: --backends"),
    (("report", "--baseline"), "needs a value"),
    (("report", "."), ". has no run.json"),
    (("report", ""), "There is no run ''"),
    (("report", "my_example.py"), "There is no run 'my_example.py'"),
    ((*RUN, "--name", ""), "choose one without '/'"),
    ((*RUN, "--name", ".."), "choose one without '/'"),
    ((*RUN, "--name", "../outside"), "choose one without '/'"),
    ((*RUN, "--name", "/tmp/outside"), "choose one without '/'"),
    ((*RUN, "--name", "x" * 300), "too long"),
    ((*RUN, "--pass-env"), "needs a value"),
    ((*RUN, "--pass-env", "A=b"), "takes only the name of a variable"),
    ((*RUN, "--repeats", "1e3"), "whole number"),
    ((*RUN, "--profile", "random"), "there is no 'random'"),
]


@pytest.mark.parametrize(("arguments", "words"), [(row[0], row[1:]) for row in REQUESTS], ids=lambda v: str(v)[:50])
def test_a_wrong_request_of_any_command_is_one_sentence(
    bench: Bench, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    check(bench, arguments, *words)


def arrays(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "x_train": np.zeros((48, 4, 4, 1)),
        "y_train": np.zeros(48, np.int64),
        "x_test": np.zeros((12, 4, 4, 1)),
        "y_test": np.zeros(12, np.int64),
    }
    return {name: value for name, value in (made | changes).items() if value is not None}


DATA = [
    ({"x_train": None}, "has no x_train"),
    ({"y_test": None}, "has no y_test"),
    ({"x_train": np.zeros((47, 4, 4, 1))}, "47 samples and 48 targets"),
    ({"x_train": np.zeros(48)}, "store (samples, values, ...)"),
    ({"x_train": np.zeros((48, 16)), "x_test": np.zeros((12, 16))}, "the example takes images"),
    ({"x_train": np.zeros((48, 4, 4, 1), object)}, "Object arrays cannot be loaded"),
    ({"x_train": np.zeros((48, 4, 4, 1), complex)}, "is complex128"),
    ({"x_train": np.zeros((48, 4, 4, 1), "U3")}, "store it as an array of numbers"),
    ({"x_train": np.zeros((48, 0, 4, 1))}, "has shape"),
    ({"x_train": np.zeros((48, 4, 4, 1), np.float32)}, "make them equal"),
    ({"y_train": np.zeros(48, complex)}, "is complex128"),
    ({"y_train": np.full(48, -1)}, "number the classes from 0"),
    ({"y_train": np.full(48, 2**40)}, "number the classes from 0"),
    ({"y_train": np.array([None] * 48, object)}, "Object arrays cannot be loaded"),
    ({"y_train": np.zeros((), np.int64)}, "is empty"),
    ({"x_train": np.zeros((0, 4, 4, 1)), "y_train": np.zeros(0, np.int64)}, "is empty"),
]


@pytest.mark.parametrize(("changes", "words"), DATA, ids=lambda value: str(value)[:40].replace("\n", " "))
def test_wrong_arrays_are_one_sentence(bench: Bench, changes: dict[str, Any], words: str) -> None:
    np.savez(bench.folder / "patterns.npz", **arrays(**changes))
    check(bench, RUN, "patterns.npz", words)


@pytest.mark.parametrize("left", [1, 100, 0.5, -1, -22])
def test_a_cut_off_data_file_is_one_sentence(bench: Bench, left: float) -> None:
    path = bench.folder / "patterns.npz"
    size = path.stat().st_size
    os.truncate(path, int(size * left) if isinstance(left, float) else left % size)
    check(bench, RUN, "patterns.npz cannot be read as .npz")


@given(st.lists(st.tuples(st.integers(0, 5000), st.binary(min_size=1, max_size=4)), min_size=1, max_size=4))
def test_a_data_file_with_any_bytes_changed_is_read_or_refused(
    tmp_path: Path, changes: list[tuple[int, bytes]]
) -> None:
    from kbench import datasets

    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    write_patterns(tmp_path / "x.npz")
    content = bytearray((tmp_path / "x.npz").read_bytes())
    for place, replacement in changes:
        place %= len(content)
        content[place : place + len(replacement)] = replacement
    (tmp_path / "x.npz").write_bytes(content)
    try:
        datasets.prepare(
            str(tmp_path / "x.npz"), input="image", image_data_format="channels_last", cache=tmp_path / "cache"
        )
    except UserError as error:
        one_sentence(error)
    assert {path.name for path in tmp_path.iterdir()} <= {"x.npz", "cache"}


TOML = FAKE_TOML.format(python="3.11", can='["infer"]', color="#0072B2", more="", builds="")
TOML_VALUES = st.one_of(
    st.sampled_from(['""', "0", "-1", "nan", "inf", "true", "[]", "{}", '["a"]', '"a\\nb"', "[[]]", '{a = "{x}"}']),
    st.sampled_from(["1979-05-27", "07:32:00", '"\\u0000"', '"../../x"', '"{env}"', "[1, 2, 3]", "'''\na\n'''"]),
    st.text(string.printable, max_size=8),
)
KEYS = [*(field.name for field in fields(Backend)), "nonsense", "titel", '"a b"', "a.b"]
LINES = st.tuples(st.sampled_from(KEYS), TOML_VALUES).map(lambda pair: f"{pair[0]} = {pair[1]}")


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans(), LINES), min_size=1, max_size=3))
def test_any_line_of_a_backends_file_is_read_or_refused_with_the_files_name(
    tmp_path: Path, changes: list[tuple[int, bool, str]]
) -> None:
    path = write_fake(tmp_path, "keras9/fake", "keras-fake==2.99.1 --hash=sha256:0\n")
    lines = TOML.splitlines()
    for place, instead, line in changes:
        place %= len(lines)
        lines[place : place + instead] = [line]
    path.write_text("\n".join(lines), encoding="utf-8")
    try:
        backend = backends.load(path)
    except UserError as error:
        one_sentence(error)
        assert "keras9/fake" in str(error)
    else:
        assert backend.name == "keras9/fake"


@given(st.binary(max_size=60))
def test_any_bytes_are_a_backends_file_or_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = write_fake(tmp_path, "keras9/fake", "")
    path.write_bytes(TOML.encode() + content)
    try:
        backends.load(path)
    except UserError as error:
        one_sentence(error)


def places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The ways to all that a JSON value is made of."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, one in inside for place in places(one, (*path, key)))]


def changed(value: Any, path: tuple[Any, ...], new: object) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


def derive(run: Path) -> None:
    """All that is derived but plots; or one sentence."""
    try:
        one_run.rebuild(ToldRun(store.read(run)), plots=False)
    except UserError as error:
        one_sentence(error)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A run on disk."""
    fates = [(cell(backend=f"keras3/{name}", repeat=1), 1.0, Outcome(OK, "", 3.0, 0)) for name in ("jax", "torch")]
    return fake_run(tmp_path, [*fates, (cell("imdb_gru"), 1.0, Outcome(FAILED, "why"))])


@FEWER
@given(st.data())
def test_any_value_in_run_json_is_used_or_refused_in_one_sentence(whole: Path, data: st.DataObject) -> None:
    kept = whole / "kept.json"
    if not kept.exists():
        shutil.copy(whole / "run.json", kept)
    record = json.loads(kept.read_text())
    place = data.draw(st.sampled_from(places(record)))
    (whole / "run.json").write_text(json.dumps(changed(record, place, data.draw(VALUES))))
    derive(whole)
    assert {path.name for path in whole.parent.iterdir()} == {whole.name}


@FEWER
@given(st.data())
def test_any_value_in_an_outcome_is_used_or_the_cell_counts_as_interrupted(whole: Path, data: st.DataObject) -> None:
    path = store.cell_folder(whole, cell(backend="keras3/jax")).outcome
    record = {"status": "ok", "reason": "", "seconds": 3.0, "exit_code": 0, "tree_memory_mib": 9.0}
    record |= {"disturbed_rounds": [1, 2], "reference_samples": [1.0, 1.25], "later": 1}  # of earlier and later ones
    place = data.draw(st.sampled_from(places(record)))
    path.write_text(json.dumps(changed(record, place, data.draw(VALUES))))
    first, second, third = store.read(whole).measured
    assert first.outcome.status in ("ok", "interrupted")
    assert (second.outcome.status, third.outcome.status) == ("ok", "failed")
    assert summarise(store.read(whole).measured)
    derive(whole)


@FEWER
@given(st.binary(max_size=40), st.sampled_from(["run.json", "outcome.json", "spec.json", "events.jsonl"]))
def test_any_bytes_in_a_file_of_a_run_are_used_or_refused(whole: Path, content: bytes, name: str) -> None:
    folder = store.cell_folder(whole, cell(backend="keras3/jax")).path
    path = whole / name if name == "run.json" else folder / name
    before = path.read_bytes()
    path.write_bytes(content)
    derive(whole)
    path.write_bytes(before)
