"""What --explain changes in a program, and what it measures for that."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from guest_modules import guest


class Model:
    def compile(self, optimizer: str, jit_compile: bool = False, run_eagerly: bool = False) -> None:
        self.jit_compile = jit_compile
        self.run_eagerly = run_eagerly

    jit_compile = False
    run_eagerly = False


@pytest.mark.parametrize(
    ("heeds", "asked", "expected"),
    [
        (True, {"run_eagerly": True}, (False, False)),
        (True, {"jit_compile": True}, (False, False)),
        (True, {}, (True, False)),
        (False, {"run_eagerly": True}, (True, True)),  # where it changes nothing, jit_compile may
    ],
)
def test_a_model_is_compiled_otherwise(
    heeds: bool, asked: dict[str, bool], expected: tuple[bool, bool], tmp_path: Path
) -> None:
    changed = type("Changed", (Model,), {})
    with guest(tmp_path, "observing.changes") as (changes,):
        changes.compile_otherwise(changed, SimpleNamespace(heeds_run_eagerly=heeds))
    model: Any = changed()
    model.compile("sgd", **asked)
    assert (model.jit_compile, model.run_eagerly) == expected


def test_the_numbers_of_a_batch_are_copied_and_texts_are_not(tmp_path: Path) -> None:
    numbers, texts = np.ones(3), np.array(["a text"])
    framework = mock.Mock()
    with guest(tmp_path, "observing.changes") as (changes,):
        assert changes.transfer_seconds(framework, "model", ([numbers, texts], None, None)) > 0
        framework.transfer.assert_called_with("model", [numbers])
        framework.transfer.side_effect = NotImplementedError
        assert changes.transfer_seconds(framework, "model", (numbers, None, None)) is None


def test_equal_values_are_the_same_data_in_any_precision(tmp_path: Path) -> None:
    single, halves = np.eye(3, dtype="float32"), np.full((2, 2), 0.1)
    with guest(tmp_path, "observing.about") as (about,):

        def sha256(y: np.ndarray) -> str:
            found: str = about.training({"x": np.zeros((3, 1), "float32"), "y": y}, True)["content_sha256"]
            return found

        assert sha256(single) == sha256(single.astype("float64")) != sha256(single * 2)
        assert sha256(halves) != sha256(halves.astype("float32").astype("float64"))
