"""A layer's settings: whatever changes the computation shows, in words that both generations share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from guest_modules import guest

POLICY = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": None}


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    with guest(tmp_path, "frameworks.layer_settings") as (found,):
        yield found


def described(module: ModuleType, config: dict[str, Any], frozen: bool = False, **attributes: Any) -> Any:
    """The settings of a layer with this configuration and one weight."""

    class Dense:
        weights = (SimpleNamespace(shape=(2, 3)),)

        def get_config(self) -> dict[str, Any]:
            return config

    layer = Dense()
    vars(layer).update(attributes)
    framework = SimpleNamespace(shape_of=lambda one: one.shape, shared_shape=lambda owner, name, shape: shape)
    name, settings, shapes = module.describe(framework, layer, frozen)
    assert (name, shapes) == ("Dense", [[2, 3]])
    return settings


@pytest.mark.parametrize(
    ("keras_2", "keras_3", "settings"),
    [
        ({"alpha": 0.30000001192092896}, {"negative_slope": 0.3}, {"negative_slope": 0.3}),
        ({"trainable": True, "name": "dense_1"}, {"trainable": True, "name": "dense", "dtype": POLICY}, {}),
        ({}, {"groups": 1, "seed": None, "quantization_config": None}, {}),
        ({"groups": 2}, {"groups": 2}, {"groups": 2}),
        (
            {"kernel_regularizer": {"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.009999999776482582}}},
            {"kernel_regularizer": {"module": "keras.regularizers", "class_name": "L2", "config": {"l2": 0.01}}},
            {"kernel_regularizer": {"class_name": "L1L2", "l2": 0.01}},
        ),
        (
            {"bias_constraint": {"class_name": "MaxNorm", "config": {"max_value": 2, "axis": 0}}},
            {"bias_constraint": {"module": "keras.constraints", "class_name": "MaxNorm", "config": {"max_value": 2}}},
            {"bias_constraint": ["MaxNorm", {"max_value": 2}]},
        ),
        (
            {"activation": "square", "stddev": 0.5, "max_value": None},
            {"activation": {"class_name": "function", "config": "square"}, "stddev": 0.5},
            {"activation": "square", "stddev": 0.5},
        ),
        (
            {"layer": {"class_name": "GRU", "config": {"units": 3, "dropout": 0.0, "implementation": 1}}},
            {"layer": {"class_name": "GRU", "config": {"units": 3, "use_cudnn": "auto", "seed": 7}}},
            {"layer": ["GRU", {"units": 3}]},
        ),
        (
            {"layer": {"class_name": "GRU", "config": {"units": 3}}},
            {
                "layer": {"class_name": "GRU", "config": {"units": 3, "zero_output_for_mask": True}},
                "backward_layer": {"class_name": "GRU", "config": {"units": 3, "go_backwards": True}},
            },
            {"layer": ["GRU", {"units": 3}]},
        ),
    ],
)
def test_both_generations_settings_are_the_same_words(
    module: ModuleType, keras_2: dict[str, Any], keras_3: dict[str, Any], settings: dict[str, Any]
) -> None:
    assert described(module, keras_2) == described(module, keras_3) == settings


def test_a_setting_that_nobody_thought_of_shows(module: ModuleType) -> None:
    assert described(module, {"brand_new": 0.5}) == {"brand_new": 0.5}


@pytest.mark.parametrize(
    ("value", "shown"),
    [(float("inf"), float("inf")), (np.float32(0.1), 0.1), (np.array([1, 2]), [1, 2]), (len, "len"), (b"x", "bytes")],
)
def test_a_setting_of_any_type_has_a_form_that_json_knows(module: ModuleType, value: Any, shown: Any) -> None:
    assert described(module, {"brand_new": value}) == {"brand_new": shown}


def test_a_backward_layer_that_is_another_shows(module: ModuleType) -> None:
    forward, backward = ({"class_name": "GRU", "config": {"units": units}} for units in (3, 4))
    assert "backward_layer" in described(module, {"layer": forward, "backward_layer": backward})


def test_another_precision_shows(module: ModuleType) -> None:
    mixed = {**POLICY, "config": {"name": "mixed_float16"}}
    assert described(module, {"dtype": mixed}) == {"dtype": "mixed_float16"}


@pytest.mark.parametrize(
    "frozen",
    [
        {"frozen": True},
        {"trainable": False},
        {"layer": SimpleNamespace(trainable=False)},
        {"backward_layer": SimpleNamespace(trainable=False)},
    ],
    ids=str,
)
def test_a_layer_that_is_frozen_by_itself_its_wrapper_or_its_model_shows(
    module: ModuleType, frozen: dict[str, Any]
) -> None:
    assert described(module, {}, **frozen) == {"trainable": False}


@pytest.mark.parametrize("shape", [(1, 1, 32), [32, 1, 1]], ids=str)
def test_a_vector_as_an_image_of_one_place_is_the_same_in_both_layouts(module: ModuleType, shape: Any) -> None:
    assert described(module, {"target_shape": shape}) == {"target_shape": [1, 1, 32]}
    assert described(module, {"target_shape": [4, 2, 1]}) == {"target_shape": [4, 2, 1]}


@pytest.mark.parametrize(
    ("layout", "axis", "expected"),
    [
        ("channels_last", 3, {}),
        ("channels_last", -1, {}),
        ("channels_first", 1, {}),
        ("channels_first", -1, {"axis": -2}),
        ("channels_last", 1, {"axis": -3}),
        ("channels_first", 2, {"axis": -3}),
        ("channels_last", [3], {}),
    ],
)
def test_an_axis_is_the_same_in_both_layouts(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, layout: str, axis: Any, expected: dict[str, int]
) -> None:
    monkeypatch.setattr("keras.backend.image_data_format", lambda: layout)
    node = SimpleNamespace(input_tensors=SimpleNamespace(shape=(None, 8, 8, 3)))
    assert described(module, {"axis": axis}, _inbound_nodes=[node]) == expected
