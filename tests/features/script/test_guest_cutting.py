"""--max-steps cuts what a call is given, whatever that is, and leaves the rest as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from guest_modules import guest

X, Y = np.arange(640.0).reshape(320, 2), np.arange(320.0)


class Model:
    """Keeps what its methods are given."""

    def fit(self, x: Any = None, y: Any = None, batch_size: Any = None, **given: Any) -> None:
        self.given = {**given, "x": x, "y": y}

    def predict(self, x: Any, batch_size: Any = None, steps: Any = None) -> Any:
        self.given = {"x": x, "steps": steps}
        return np.asarray(x)[:, 0] if steps is None else np.zeros(steps * 32)


class Recorder:
    text = ""

    def is_cut(self, text: str) -> None:
        self.text = text

    def guarded(self, do: Callable[..., Any], *args: Any) -> Any:
        return do(*args)


class Dataset:
    def __init__(self, batches: int) -> None:
        self.batches = batches

    def cardinality(self) -> int:
        return self.batches

    def take(self, count: int) -> Dataset:
        return Dataset(count if self.batches < 0 else min(self.batches, count))


@pytest.fixture
def cut(tmp_path: Path) -> Iterator[tuple[Any, Recorder]]:
    recorder, kind = Recorder(), type("Cut", (Model,), {"fit": Model.fit, "predict": Model.predict})
    with guest(tmp_path, "kbench_script.watching.cutting") as (cutting,):
        cutting.watch(kind, 3, recorder)
        yield kind(), recorder


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (X, Y),
        (X, Y.tolist()),
        ([X, X], [Y]),
        ({"a": X}, Y),
        (X, pandas.Series(Y, index=range(500, 820))),
        (pandas.DataFrame(X), pandas.Series(Y)),
    ],
)
def test_each_kind_of_array_has_the_rows_of_so_many_steps(cut: tuple[Any, Recorder], x: Any, y: Any) -> None:
    model, recorder = cut
    model.fit(x, y, batch_size=8, sample_weight=Y, validation_data=(x, y))
    given = model.given
    for x, y in ((given["x"], given["y"]), given["validation_data"]):
        for one in x if isinstance(x, list) else x.values() if isinstance(x, dict) else [x]:
            np.testing.assert_array_equal(one, X[:24])
        np.testing.assert_array_equal(np.asarray(y).reshape(-1), Y[:24])
    assert len(given["sample_weight"]) == 24
    assert recorder.text == "--max-steps cuts each epoch and each validation to 3 steps"


def test_nothing_is_said_and_changed_where_there_is_no_more(cut: tuple[Any, Recorder]) -> None:
    model, recorder = cut
    for x, more in ((X[:96], {}), (Dataset(2), {}), (iter(()), {"steps_per_epoch": 2}), (None, {})):
        recorder.text = "before"
        model.fit(x, **more)
        assert model.given["x"] is x and recorder.text == ""


def test_the_validation_set_is_split_off_before_the_cut(cut: tuple[Any, Recorder]) -> None:
    model, _ = cut
    model.fit(X, Y, validation_split=0.25)
    assert model.given["validation_split"] == 0 and len(model.given["x"]) == 96
    np.testing.assert_array_equal(model.given["validation_data"][1], Y[240:])


def test_steps_that_the_program_asks_for_get_fewer_and_never_more(cut: tuple[Any, Recorder]) -> None:
    model, _ = cut
    endless = iter(int, 1)
    model.fit(endless, steps_per_epoch=20, validation_data=endless, validation_steps=2)
    assert (model.given["steps_per_epoch"], model.given["validation_steps"]) == (3, 2)
    model.fit(endless)
    assert model.given["steps_per_epoch"] == 3
    model.steps_per_execution = 2
    model.fit(endless, steps_per_epoch=20)
    assert model.given["steps_per_epoch"] == 2
    model.steps_per_execution = 20
    model.fit(endless, steps_per_epoch=20)
    assert (model.given["steps_per_epoch"], model.steps_per_execution) == (3, 3)


def test_a_dataset_begins_anew_in_each_epoch(cut: tuple[Any, Recorder]) -> None:
    model, _ = cut
    model.fit(Dataset(8), validation_data=Dataset(8))
    assert (model.given["x"].batches, model.given["validation_data"].batches) == (3, 3)
    assert "steps_per_epoch" not in model.given


def test_a_generator_is_asked_for_no_more(cut: tuple[Any, Recorder]) -> None:
    model, _ = cut
    model.fit(batch for batch in range(9))
    assert list(model.given["x"]) == [0, 1, 2]


def test_there_are_as_many_predictions_as_the_program_asks_for(cut: tuple[Any, Recorder]) -> None:
    model, recorder = cut
    found = model.predict(X)
    assert len(model.given["x"]) == 96 and found.shape == (320,)
    np.testing.assert_array_equal(found[:96], X[:96, 0])
    np.testing.assert_array_equal(found[96:192], X[:96, 0])
    assert recorder.text == (
        "--max-steps cuts it to 3 steps; the predictions of their rows stand for those of all others"
    )
    assert model.predict(iter(()), steps=5).shape == (160,) and model.given["steps"] == 3
