"""The performance profile as a plot: a line a backend, in its style, and a panel a device."""

from __future__ import annotations

from typing import Any

import numpy as np
from fake_runs import COLORS, summary

from kbench.analysis.times.overall import profiles
from kbench.plots.performance_profile import _figure as draw
from kbench.plots.performance_profile import of_backends, performance_profile
from kbench.plots.styles import OWN, row_styles
from kbench.records.values import FASTEST, SLOWER, Interval
from kbench.summary import Summary

RATIOS = {"keras2/cntk": (1.0, 2.0, 4.0), "keras3/jax": (3.0, 1.0, 1.0)}


def rows(**changes: Any) -> list[Summary]:
    return [
        summary(
            name,
            f"example_{place}",
            relative_to_fastest=ratio,
            relative_interval=None if ratio == 1 else Interval(0.9 * ratio, 1.1 * ratio),
            verdict=FASTEST if ratio == 1 else SLOWER,
            **changes,
        )
        for place in range(3)
        for name, ratio in ((name, ratios[place]) for name, ratios in RATIOS.items())
    ]


def test_it_is_drawn_from_three_examples_on() -> None:
    found = rows()
    drawn = performance_profile(found, row_styles(found, COLORS))
    assert set(drawn) == {"png", "svg"} and len(drawn["png"]) > 2000
    assert performance_profile(found[:4], row_styles(found, COLORS)) == {}


def test_each_backend_has_a_line_of_its_look_that_climbs_to_its_share() -> None:
    found = rows()
    chosen = of_backends(found, row_styles(found, COLORS))
    (axes,) = draw(profiles(found), chosen, OWN).axes
    cntk, jax = sorted(axes.lines, key=lambda line: line.get_color() != COLORS["keras2/cntk"])
    assert cntk.get_color() == COLORS["keras2/cntk"] and jax.get_color() == COLORS["keras3/jax"]
    assert np.asarray(cntk.get_ydata()).round(3).tolist() == [0.333, 0.667, 1.0, 1.0]
    assert np.asarray(cntk.get_xdata())[:3].tolist() == [1.0, 2.0, 4.0]
    assert cntk.get_drawstyle() == "steps-post"


def test_a_layout_of_its_own_does_not_split_a_backend() -> None:
    found = [*rows(), *rows(image_data_format="channels_first")]
    assert {name: row_style.label for name, row_style in of_backends(found, row_styles(found, COLORS)).items()} == {
        "keras2/cntk": "keras2/cntk",
        "keras3/jax": "keras3/jax",
    }


def test_two_devices_are_two_panels() -> None:
    found = [*rows(), *rows(device="gpu:0")]
    figure = draw(profiles(found), of_backends(found, row_styles(found, COLORS)), OWN)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        f"share of 3 examples on {device} within x times the fastest" for device in ("cpu", "gpu:0")
    ]
