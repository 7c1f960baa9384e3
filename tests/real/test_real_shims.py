"""--shims serves what the other generation of Keras computes: each name is compared with that generation's own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kbench import hooks
from kbench.base import paths
from kbench.environments import ensure
from kbench.selection import backends

pytestmark = [pytest.mark.timeout(3600), pytest.mark.slow("two backends start")]
CASES = Path(__file__).parent / "shim_cases.py"
OLD = "keras2/tensorflow"


def found_on(name: str, folder: Path) -> dict[str, Any]:
    """What the calls of shim_cases.py give on a backend."""
    about = backends.load_all(paths.project_folder("backends"))[name]
    environment = ensure.ensure(about, next(build for build in about.builds if build.device == "cpu"))
    home = folder / about.name.replace("/", "-")
    home.mkdir()
    settings = {"backend": about.keras_backend, "image_data_format": "channels_last", "floatx": "float32"}
    (home / "keras.json").write_text(json.dumps({**settings, "epsilon": 1e-7}))
    variables = {
        "PYTHONPATH": f"{paths.GUEST}:{hooks.guest_folder('shims')}",
        "KERAS_HOME": str(home),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    ended = subprocess.run(
        [str(environment.python), str(CASES), str(home / "found.npz")],
        env={**os.environ, **ensure.variables(environment, 1), **variables},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    with np.load(home / "found.npz") as file:
        return {key: file[key] for key in file.files}


@pytest.mark.parametrize(
    "new",
    ["keras3/torch", *(pytest.param(f"keras3/{name}", marks=pytest.mark.thorough) for name in ("tensorflow", "jax"))],
)
def test_what_is_served_is_what_the_other_generation_computes(new: str, tmp_path: Path) -> None:
    old, served = found_on(OLD, tmp_path), found_on(new, tmp_path)
    assert old.keys() == served.keys()
    for kind, one in (("old", served), ("new", old)):
        assert {key.split()[2] for key in one if key.startswith(kind)} == set(one["served"].tolist())
    for key in old.keys() - {"served"}:
        mine, right = (served[key], old[key]) if not key.startswith("new") else (old[key], served[key])
        assert right.dtype.kind != "U" or right.dtype.kind == mine.dtype.kind, (key, mine, right)
        assert "Error" not in str(right), (key, right)
        assert mine.shape == right.shape, (key, mine, right)
        if right.dtype.kind == "U":
            assert (mine == right).all(), key
        else:
            np.testing.assert_allclose(mine.astype(float), right.astype(float), rtol=1e-5, atol=1e-5, err_msg=key)
