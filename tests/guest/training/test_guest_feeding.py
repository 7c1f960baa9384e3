"""The order of batches that an example's file makes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from guest_modules import guest

PICTURES = np.random.RandomState(0).uniform(size=(8, 4, 5, 3)).astype("float32")
ONE_HOT = np.eye(3)[np.arange(8) % 3]


def about(
    folder: Path,
    image_data_format: str,
    dtype: str,
    last: int = 7,
    order: Any = slice(None),
    weight: float | None = None,
) -> dict[str, Any]:
    first = image_data_format == "channels_first"

    def batches(x: Any, y: Any, batch_size: int, seed: int) -> Any:
        given = x.copy()
        given[last] *= 2
        for at in range(0, len(x), batch_size):
            batch = given[order][at : at + batch_size], y[order][at : at + batch_size]
            yield batch if weight is None else (*batch, np.full(len(batch[1]), weight, "float32"))

    with guest(folder, "training.feeding") as (feeding,):
        x = np.moveaxis(PICTURES, -1, 1) if first else PICTURES
        buffer = SimpleNamespace(
            fill=lambda samples: None, model_inputs=lambda: x, model_targets=lambda: ONE_HOT.astype(dtype)
        )
        feeding.arrays.Buffer = lambda part, samples, targets: buffer
        spec = {"batch_size": 4, "seed": 1, "input": "image", "image_data_format": image_data_format}
        feed = feeding.feed(SimpleNamespace(batches=batches), spec, SimpleNamespace(samples=8), None)
        found: dict[str, Any] = feed.about()
        return found


def test_batches_of_a_file_have_one_order_in_both_layouts_and_whatever_their_dtype(tmp_path: Path) -> None:
    expected = about(tmp_path, "channels_last", "float32")
    assert about(tmp_path, "channels_first", "float64") == expected
    other = about(tmp_path, "channels_last", "float32", last=6)
    assert other["sha256"] != expected["sha256"] and other["samples_sha256"] != expected["samples_sha256"]


def test_samples_of_a_file_are_the_same_in_any_order_and_those_that_come_again_count_once(tmp_path: Path) -> None:
    expected = about(tmp_path, "channels_last", "float32")
    turned = about(tmp_path, "channels_first", "float32", order=slice(None, None, -1))
    assert turned["sha256"] != expected["sha256"]
    assert turned["samples_sha256"] == expected["samples_sha256"] and turned["different_samples"] == 8
    again = np.array([0, 1, 2, 3, 4, 5, 6, 0])
    assert about(tmp_path, "channels_last", "float32", order=again)["different_samples"] == 7


def test_weights_of_samples_are_told_apart_from_the_samples(tmp_path: Path) -> None:
    plain, ones, twos = (about(tmp_path, "channels_last", "float32", weight=weight) for weight in (None, 1.0, 2.0))
    assert plain == ones and plain["sample_weights"] == "none"
    assert plain["samples_sha256"] == twos["samples_sha256"] and twos["sample_weights"] != "none"


@pytest.mark.parametrize("given", [5, (1, 2, 3, 4)])
def test_batches_of_a_wrong_form_are_refused(tmp_path: Path, given: Any) -> None:
    with guest(tmp_path, "training.feeding", "protocol") as (feeding, protocol):
        buffer = SimpleNamespace(fill=lambda samples: None, model_inputs=lambda: 0, model_targets=lambda: 0)
        feeding.arrays.Buffer = lambda part, samples, targets: buffer
        spec = {"batch_size": 4, "seed": 1, "input": "flat", "image_data_format": "channels_last"}
        example = SimpleNamespace(batches=lambda *args: iter([given]))
        with pytest.raises(protocol.Refused, match="must give"):
            feeding.feed(example, spec, SimpleNamespace(samples=8), None)


@pytest.mark.parametrize("shape", [(8,), (8, 1)])
def test_the_loss_of_the_first_batch_is_of_its_own_zeros_and_ones(tmp_path: Path, shape: tuple[int, ...]) -> None:
    targets = np.random.RandomState(0).randint(0, 2, shape).astype("float32")
    with guest(tmp_path, "training.feeding", "arrays") as (feeding, arrays):
        part = arrays.Part([PICTURES], [targets], None, 8, 1, [], [])
        example, spec = SimpleNamespace(LOSS="binary_crossentropy"), {"batch_size": 4, "seed": 0, "epochs": 1}
        feed = feeding.feed(example, spec, part, [targets])
        loss, right = feed.loss_of_first(), feed.batch(0).model_targets().reshape(4, 1)
    assert loss(right) < 1e-6 and loss(1 - right) > 10
    assert loss(np.zeros((4, 2))) is None


def test_a_process_is_given_its_part_of_each_batch_or_all_of_it(tmp_path: Path) -> None:
    with guest(tmp_path, "training.feeding") as (feeding,):

        def given(**workers: Any) -> list[int]:
            spec = {"batch_size": 4, **({"workers": workers} if workers else {})}
            return [int(one) for one in feeding.own_samples(spec, 8)]

        assert given() == given(processes=1, rank=0) == [0, 1, 2, 3, 4, 5, 6, 7]
        assert given(processes=2, rank=0) == [0, 1, 4, 5] and given(processes=2, rank=1) == [2, 3, 6, 7]
        assert given(processes=2, rank=1, whole=True) == given()  # a framework that divides it
