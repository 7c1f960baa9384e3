"""Suites: their files, what options and a machine leave of them, and the cells that they make."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fake_runs import request as as_request

from kbench import datasets, store
from kbench.analysis.rows import summarised
from kbench.base import paths
from kbench.commands import choices
from kbench.datasets import MissingFile, Origin
from kbench.datasets.registry import REGISTRY
from kbench.errors import UserError
from kbench.features.published import figures as published
from kbench.features.published import suites
from kbench.planning import plan, request
from kbench.planning.plan import Plan
from kbench.planning.request import Request
from kbench.records import axes
from kbench.records.values import OK, UNSUPPORTED
from kbench.screen import planned_data
from kbench.selection import backends, examples
from kbench.session import data

KNOWN = examples.load_all(paths.project_folder("examples_models"))
BACKENDS = backends.load_all(paths.project_folder("backends"))
OWN = """
title = "Mine"
[vary]
threads = [1, 2, 4]
[examples.mnist_mlp]
batch_size = [64, 1, 128]
task = ["train", "infer"]
infer = { batch_size = [1, 32], threads = [1] }
gpu = { batch_size = [512] }
[examples.mnist_cnn]
steps = 50
[[tables]]
title = "by threads"
columns = "threads"
unit = "samples/s"
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(OWN)
    return path


def left(path: Path, typed: tuple[str, ...] = (), cores: int = 2, **how: Any) -> suites.Suite:
    suite = suites.load(path)
    chosen = suites.chosen_examples(path, suite, KNOWN, None)
    given = {"on_gpu": False, "smoke": False, **how}
    return suites.resolved(path, suite, chosen, typed=typed, cores=cores, **given)


def made(suite: suites.Suite, **more: Any) -> Plan:
    files = tuple(str(KNOWN[name].path) for name in suite.settings)
    asked = as_request(
        backends=("keras3/jax", "keras3/torch"), examples=files, example_settings=suite.settings, **more
    )
    return plan.make_plan(asked, BACKENDS, [])


def test_every_suite_that_comes_with_kbench_names_examples_sources_and_frameworks_that_exist() -> None:
    figures = published.read()
    for name, path in suites.files().items():
        suite = suites.load(path)
        assert suites.chosen_examples(path, suite, KNOWN, None), name
        assert set(suite.published) <= {one.source for one in figures}, name
        pairs = {(one.workload, one.framework) for one in figures if one.source in suite.published}
        assert {(one.example, one.framework) for one in suite.other_networks} <= pairs, name
        workloads = {one.workload for one in figures if one.source in suite.published and one.of_network}
        assert workloads <= set(suite.examples), name


def test_an_example_has_the_suites_values_with_its_own_over_them_and_threads_that_the_machine_has(own: Path) -> None:
    found = left(own).settings
    assert found["mnist_mlp"].train.batch_size == (64, 1, 128)
    assert found["mnist_mlp"].train.threads == (1, 2)
    assert (found["mnist_mlp"].infer.batch_size, found["mnist_mlp"].infer.threads) == ((1, 32), (1,))
    assert (found["mnist_cnn"].train.threads, found["mnist_cnn"].train.batch_size) == ((1, 2), ())
    assert left(own).left_out == "4 threads: more than the cores here" and left(own, cores=4).left_out == ""
    assert left(own, on_gpu=True).settings["mnist_mlp"].train.batch_size == (512,)


def test_what_the_user_types_counts_instead_of_the_suite(own: Path) -> None:
    found = left(own, typed=("batch_size", "task")).settings["mnist_mlp"]
    assert (found.train.batch_size, found.infer.batch_size, found.task) == ((), (), ())
    cells = made(left(own, typed=("batch_size", "task")), batch_size=(16,), task=("infer",)).tasks
    assert {(one.task, one.batch_size) for one in cells if one.example == "mnist_mlp"} == {("infer", 16)}


def test_a_smoke_run_takes_the_first_of_several_values_and_all_tasks(own: Path) -> None:
    suite = left(own, smoke=True)
    assert suite.settings["mnist_mlp"].train.batch_size == (64,)
    cells = made(suite, profile="smoke").tasks
    assert len(cells) == 2 * 3
    found = {(one.example, one.task, one.batch_size, one.threads) for one in cells}
    assert found == {("mnist_mlp", "train", 64, 1), ("mnist_mlp", "infer", 1, 1), ("mnist_cnn", "train", 128, 1)}


def test_each_example_is_swept_by_its_own_values_and_its_epochs_have_the_steps_that_are_asked_for(own: Path) -> None:
    cells = [one for one in made(left(own)).tasks if one.backend == "keras3/jax"]
    train = {(one.batch_size, one.threads) for one in cells if one.example == "mnist_mlp" and one.task == "train"}
    assert train == {(size, threads) for size in (64, 1, 128) for threads in (1, 2)}
    infer = [one for one in cells if one.task == "infer"]
    assert {(one.batch_size, one.threads) for one in infer} == {(1, 1), (32, 1)}
    assert {one.validation_samples for one in infer} == {0}
    assert len({one.id for one in cells}) == len(cells)
    (first, *_) = [one for one in cells if one.example == "mnist_cnn"]
    assert first.samples == max(50 * 128, KNOWN["mnist_cnn"].profiles["quick"].samples)


def test_a_run_keeps_its_suite_so_that_resume_needs_no_file(own: Path, tmp_path: Path) -> None:
    suite = left(own)
    asked = Request(
        backends=("keras3/jax",),
        examples=(str(KNOWN["mnist_mlp"].path),),
        example_settings=suite.settings,
        asked={"suite": suites.kept(suite)},
    )
    kept = json.loads(json.dumps({**asdict(asked), "example_settings": msgspec.to_builtins(asked.example_settings)}))
    own.unlink()
    again = request.read(kept, tmp_path)
    assert (again.example_settings, suites.of_request(kept)) == (suite.settings, suite)
    assert suites.of_request({}) is None


def test_real_and_synthetic_data_of_an_example_are_two_rows_that_are_not_the_same_work(tmp_path: Path) -> None:
    path = tmp_path / "both.toml"
    path.write_text(
        'title = "Both"\n[examples.mnist_mlp]\ndata = ["real", "synthetic"]\n[examples.fcn_s]\ndata = ["real"]'
    )
    cells = made(left(path)).tasks
    of_mlp = [one for one in cells if one.example == "mnist_mlp" and one.backend == "keras3/jax"]
    assert {(one.source, one.values[axes.DATA]) for one in of_mlp} == {("real", "real"), ("synthetic", "synthetic")}
    assert len({one.key.work for one in of_mlp}) == 2
    assert {one.source for one in cells if one.example == "fcn_s"} == {""}, "it makes its own"


def test_rows_with_real_data_are_left_out_where_there_are_none_and_the_plan_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = (MissingFile(REGISTRY["cifar10"].variants[0][0], "no network"),)
    monkeypatch.setattr(datasets, "origin", lambda *_: Origin("real", missing=missing))
    path = tmp_path / "both.toml"
    path.write_text('title = "Both"\n[examples.cifar10_cnn]\ndata = ["real", "synthetic"]\n')
    chosen = data.chosen(made(left(path)))
    assert {(one.source, one.backend) for one in chosen.tasks} == {
        ("synthetic", f"keras3/{n}") for n in ("jax", "torch")
    }
    said = " ".join(" ".join(planned_data.lines(chosen)).split())
    assert "cifar10_cnn: synthetic data" in said and "cifar10: left out, real data; missing: " in said
    assert planned_data.in_short(chosen) == ", synthetic data"
    went_on = made(left(path), data_sources={"cifar10: real": "real", "cifar10: synthetic": "synthetic"})
    assert len(data.chosen(went_on).tasks) == 4, "no row of a run is lost because files have gone"
    path.write_text('title = "Real"\n[examples.cifar10_cnn]\ndata = ["real"]\n')
    assert len(data.chosen(made(left(path))).tasks) == 2, "which then says what is missing"


def test_what_only_infers_is_not_asked_to_train_where_inference_is_asked_for_too() -> None:
    def tasks(name: str, *asked: Any) -> list[tuple[str, str]]:
        files = (str(KNOWN[name].path),)
        found = plan.make_plan(as_request(backends=("keras3/jax",), examples=files, task=asked), BACKENDS, [])
        return [
            (one.task, found.impossible[one.id].reason if one.id in found.impossible else "") for one in found.tasks
        ]

    assert tasks("resnet50_features") == [("infer", "")]
    assert tasks("resnet50_features", "train", "infer") == [("infer", "")]
    assert tasks("resnet50_features", "train") == [("train", "resnet50_features only predicts and cannot be trained")]
    assert tasks("mnist_mlp", "infer") == [("infer", "")]


def test_inference_of_what_an_example_trains_has_a_folder_of_its_own() -> None:
    asked = as_request(backends=("keras3/jax",), examples=(str(KNOWN["mnist_mlp"].path),), task=("infer",))
    (cell,) = plan.make_plan(asked, BACKENDS, []).tasks
    assert cell.id == "mnist_mlp__keras3-jax__channels_last__cpu__task=infer__r1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("title = 1\n[examples.mnist_mlp]", "title is wrong: expected `str`, got `int`"),
        ("[examples.mnist_mlp]", "'title' is missing"),
        ('title = "x"', "'examples' is missing"),
        ('title = "x"\n[examples]', "examples is wrong"),
        ('title = "x"\n[examples.mnist_mpl]', "no example 'mnist_mpl': did you mean mnist_mlp"),
        ('title = "x"\n[examples."own.py"]', "no example file"),
        ('titel = "x"\n[examples.mnist_mlp]', "no key 'titel': did you mean title"),
        ('title = "x"\n[vary]\nbatchsize = [1]\n[examples.mnist_mlp]', "no key 'batchsize' in vary: did you mean"),
        (
            'title = "x"\n[examples.mnist_mlp]\nbatch_size = [0]',
            "examples.mnist_mlp.batch_size[0] is wrong: expected `int` >= 1",
        ),
        (
            'title = "x"\n[examples.mnist_mlp]\nbatchsize = [1]',
            "no key 'batchsize' in examples.mnist_mlp: did you mean",
        ),
        ('title = "x"\n[examples.mnist_mlp]\ngpu = { task = [] }', "no key 'task' in examples.mnist_mlp.gpu"),
        ('title = "x"\n[examples.mnist_mlp]\nbatch_size = 32', "batch_size is wrong: expected `array`, got `int`"),
        (
            'title = "x"\n[examples.mnist_mlp]\ndata = ["reel"]',
            "data[0] cannot be 'reel': choose from real, synthetic",
        ),
        (
            'title = "x"\n[examples.mnist_mlp]\n[[tables]]\ntitle = "t"\ncolumns = "rows"\nunit = "s/epoch"',
            "columns can",
        ),
        (
            'title = "x"\n[examples.mnist_mlp]\n[[tables]]\ntitle = "t"\ncolumns = "threads"\nunit = "s/epoch"\n'
            'examples = ["fcn_s"]',
            "tables names 'fcn_s', which is none of its examples",
        ),
        ("title = ", "is not valid TOML"),
        ("\xff", "is not text in UTF-8"),
    ],
)
def test_a_wrong_file_is_one_sentence_with_the_key(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError) as error:
        suites.chosen_examples(path, suites.load(path), KNOWN, None)
    said = str(error.value)
    assert words in said and said.endswith((".", "?")) and not said.endswith("?.") and "\n" not in said
    assert "mine.toml" in said or "example" in said


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "dlbensh",
            "There is no suite 'dlbensh' (a suite of your own is a file, such as ./mine.toml): did you mean dlbench?",
        ),
        ("./none.toml", "There is no suite file ./none.toml"),
    ],
)
def test_a_suite_that_does_not_exist_is_one_sentence(name: str, words: str) -> None:
    with pytest.raises(UserError) as error:
        suites.find(name)
    assert words in str(error.value)


def test_examples_that_a_suite_has_can_be_chosen_and_no_others() -> None:
    path, suite = suites.find("dlbench")
    (chosen,) = suites.chosen_examples(path, suite, KNOWN, "fcn_r")
    assert chosen.name == "fcn_r"
    with pytest.raises(UserError, match="The suite dlbench has no example 'mnist_mlp'"):
        suites.chosen_examples(path, suite, KNOWN, "mnist_mlp")


def test_options_of_a_run_become_its_suite(own: Path) -> None:
    from kbench.cli import words

    def asked(**given: Any) -> Request:
        return choices.request(words.options("run", {"backends": "jax", "suite": own, **given}), BACKENDS, [])

    both = asked(profile="smoke")
    assert both.asked["suite"]["name"] == "mine" and [Path(one).stem for one in both.examples] == [
        "mnist_mlp",
        "mnist_cnn",
    ]
    assert both.named_examples == () and both.example_settings["mnist_mlp"].train.batch_size == (64,)
    one = asked(examples="mnist_cnn", batch_size=[16, 32])
    assert one.named_examples == ("mnist_cnn",) and one.on("batch_size") == (16, 32)
    assert one.example_settings["mnist_cnn"].train.batch_size == ()


@pytest.mark.parametrize("suite", ["dlbench", "rosetta"])
def test_a_suites_run_has_all_its_examples_on_each_of_its_backends(suite: str) -> None:
    rows = list(summarised(store.read(paths.project_folder("results") / f"reference-{suite}")))
    for example in suites.load(suites.files()[suite]).examples:
        of_example = {row.backend: row for row in rows if row.example == example}
        assert set(of_example) == {row.backend for row in rows} and len(of_example) >= 9
        assert all(row.status == OK or (row.status == UNSUPPORTED and row.reason) for row in of_example.values())
