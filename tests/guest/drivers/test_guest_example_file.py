"""An example's model: built with the shape of the data if it does not state its inputs, or refused in a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from guest_modules import guest


@pytest.fixture
def example_file(tmp_path: Path) -> Iterator[ModuleType]:
    with guest(tmp_path, "drivers.example_file") as (module,):
        yield module


def model(module: ModuleType, inputs: list[str] | None) -> Any:
    """A model that has these inputs once it is built."""
    base: Any = module.keras.models.Model

    class Unbuilt(base):  # type: ignore[misc]
        def __init__(self) -> None:
            self.shapes: list[Any] = []

        def build(self, shape: Any) -> None:
            self.shapes.append(shape)
            self.inputs = inputs

    return Unbuilt()


@pytest.mark.parametrize(
    ("shapes", "built"), [([(150,)], (None, 150)), ([(150,), (5,)], [(None, 150), (None, 5)])], ids=str
)
def test_a_model_that_does_not_say_what_it_takes_in_is_built_with_the_datas_shape(
    example_file: ModuleType, shapes: list[Any], built: Any
) -> None:
    made = model(example_file, ["words"])
    example = SimpleNamespace(build_model=lambda shape, classes: made)
    assert example_file.model_of(example, shapes, 2) is made and made.shapes == [built]
    assert example_file.model_of(example, shapes, 2).shapes == [built], "one that has its inputs is left as it is"


def test_what_is_no_model_or_shows_no_layers_is_refused(example_file: ModuleType) -> None:
    for made, why in ((None, "returns no Keras model but 'NoneType'"), (model(example_file, None), "without layers")):
        example = SimpleNamespace(build_model=lambda shape, classes, made=made: made)
        with pytest.raises(Exception, match=why) as caught:
            example_file.model_of(example, [(4,)], 2)
        assert caught.value.kind == "example"
