"""A variant that pairs a Keras and a framework of two times: what fits is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kbench.base import paths
from kbench.selection import backends, of_its_time, variants

JAX = backends.load(paths.project_folder("backends") / "keras3" / "jax.toml")


@pytest.mark.parametrize(
    ("variant", "keras", "framework", "sentence"),
    [
        (
            "keras3/jax+keras=3.6",
            "3.6.0",
            "0.10.2",
            "keras 3.6 was released in October 2024, before jax 0.10.2: use `jax@0.4.33+keras=3.6`",
        ),
        (
            "keras3/jax@0.4",
            "3.15.1",
            "0.4.38",
            "jax 0.4.38 was released before keras 3.15.1: use `jax@0.4.38+keras=3.8`",
        ),
        ("keras3/jax@0.4+keras=3.6", "3.6.0", "0.4.38", ""),
        ("keras3/jax+keras=4.1", "4.1.0", "0.10.2", ""),
        ("keras3/jax", "3.6.0", "0.10.2", ""),
    ],
)
def test_the_release_of_that_time_is_named(variant: str, keras: str, framework: str, sentence: str) -> None:
    made = variants.parse_name(variant, JAX)
    assert of_its_time.hint(made, {"keras": keras, "backend": framework}) == sentence


def test_nothing_is_said_without_versions_or_dates() -> None:
    made = variants.parse_name("keras3/jax+keras=3.6", JAX)
    assert of_its_time.hint(made, {}) == ""
    assert of_its_time.hint(replace(made, of_its_time={}), {"keras": "3.6.0", "backend": "0.10.2"}) == ""
