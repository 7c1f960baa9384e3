"""The heat map in the terminal: it turns, and comes in parts, where it would be wider."""

from __future__ import annotations

import pytest
from fake_runs import summary

from kbench.tables import heat_map

EXAMPLES = ["mnist_mlp", "mnist_cnn", "cifar10_cnn", "resnet50_features", "babi_rnn", "imdb_gru"]
ROWS = [
    summary(backend, example, relative_to_fastest=ratio)
    for example in EXAMPLES
    for backend, ratio in (("keras2/tensorflow2", 1.0), ("keras3/jax", 1.5))
]


@pytest.mark.parametrize(("width", "grids"), [(120, 1), (80, 1), (40, 3)])
def test_no_line_is_wider_than_the_terminal_and_each_example_has_its_column(width: int, grids: int) -> None:
    lines = heat_map.text(ROWS, width).splitlines()
    assert max(map(len, lines)) <= width
    assert sum(line.split()[:1] == ["keras3/jax"] for line in lines) in (grids, 0)
    assert sum(line.count("1.50") for line in lines) == len(EXAMPLES)
