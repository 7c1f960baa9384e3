"""An example's model: built with the shape of the data if it does not state its inputs, or refused in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from guest_modules import guest


@pytest.fixture
def example_model(tmp_path: Path) -> Iterator[ModuleType]:
    with guest(tmp_path, "training.example_model") as (module,):
        yield module


def model(module: ModuleType, inputs: list[str] | None, base: Any = None) -> Any:
    """A model that has these inputs once it is built."""
    base = base or module.keras.models.Sequential

    class Unbuilt(base):  # type: ignore[misc]
        def __init__(self) -> None:
            self.shapes: list[Any] = []
            self.layers: list[Any] = []

        def build(self, shape: Any) -> None:
            self.shapes.append(shape)
            self.inputs = inputs

    return Unbuilt()


@pytest.mark.parametrize(
    ("shapes", "built"), [([(150,)], (None, 150)), ([(150,), (5,)], [(None, 150), (None, 5)])], ids=str
)
def test_a_model_that_does_not_say_what_it_takes_in_is_built_with_the_datas_shape(
    example_model: ModuleType, shapes: list[Any], built: Any
) -> None:
    made = model(example_model, ["words"])
    example = SimpleNamespace(build_model=lambda shape, classes: made)
    data = {"input_shapes": shapes, "input_names": [], "num_classes": 2}
    assert example_model.model_of(None, example, data, None) is made and made.shapes == [built]
    assert example_model.model_of(None, example, data, None).shapes == [built], "one with inputs is left as it is"


def test_a_model_of_somebodys_own_class_is_built_by_a_call_and_build_model_may_take_less(
    example_model: ModuleType,
) -> None:
    made, called = model(example_model, None, example_model.keras.models.Model), []
    made.weights = []

    def build_by_calling(model: Any, inputs: Any) -> None:
        called.append(inputs)
        model.weights = ["kernel"]

    framework = SimpleNamespace(build_by_calling=build_by_calling)
    data = {"input_shapes": [(4,)], "input_names": [], "num_classes": 2}
    for build_model in (lambda: made, lambda input_shape: made, lambda input_shape, num_classes: made):
        assert example_model.model_of(framework, SimpleNamespace(build_model=build_model), data, "a batch") is made
    assert called == ["a batch"] * 3


def test_what_is_no_model_or_shows_no_layers_is_refused(example_model: ModuleType) -> None:
    for made, why in (
        (None, "must return a Keras model, and returns 'NoneType'"),
        (model(example_model, None), "without layers"),
    ):
        example = SimpleNamespace(build_model=lambda shape, classes, made=made: made)
        with pytest.raises(Exception, match=why) as caught:
            example_model.model_of(None, example, {"input_shapes": [(4,)], "input_names": [], "num_classes": 2}, None)
        assert vars(caught.value)["kind"] == "example"
