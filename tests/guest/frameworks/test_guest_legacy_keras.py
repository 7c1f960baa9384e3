"""Keras 2 under the name tf_keras: `import keras` gives it where TensorFlow's own variable asks for that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kbench import hooks
from kbench.base import paths

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from kbench_guest.frameworks import legacy_keras
legacy_keras.install()
import keras
import keras.layers as layers
from keras.layers.core import Dense
print(keras.__name__, keras.__spec__.name, layers is sys.modules["tf_keras.layers"], Dense)
try:
    import keras.ops
except ImportError as error:
    print(error)
import tf_keras
print(tf_keras is keras, tf_keras.loaded)
"""
FILES = {
    "keras/__init__.py": "",
    "keras/ops.py": "",
    "tf_keras/__init__.py": "loaded = globals().get('loaded', 0) + 1",
    "tf_keras/layers/__init__.py": "",
    "tf_keras/layers/core.py": "from ..layers import __name__ as above\nDense = above",
}


@pytest.fixture
def both(tmp_path: Path) -> Path:
    """A folder with a Keras 3, which has `ops`, and a tf_keras."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(folder: Path, program: str, **variables: str) -> str:
    command = [sys.executable, "-c", program, str(paths.GUEST)]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(folder), **variables}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_keras_and_its_modules_are_those_of_tf_keras_and_never_two(both: Path) -> None:
    lines = run(both, PROGRAM, TF_USE_LEGACY_KERAS="1").splitlines()
    assert lines == ["tf_keras tf_keras True tf_keras.layers", "No module named 'keras.ops'", "True 1"]


@pytest.mark.parametrize("variables", [{}, {"TF_USE_LEGACY_KERAS": "0"}])
def test_without_the_variable_keras_is_keras(both: Path, variables: dict[str, str]) -> None:
    program = PROGRAM[: PROGRAM.index("import keras\n")] + "import keras, keras.ops\nprint(keras.__name__)"
    assert run(both, program, **variables) == "keras\n"


def test_so_it_is_in_processes_that_a_program_starts(both: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    of_program, of_core = hooks.guest_folder("script") / "kbench_script", paths.GUEST / "kbench_guest"
    (home / "sitecustomize.py").write_text((of_program / "hosting" / "in_children.py").read_text())
    (home / "legacy_keras.py").write_text((of_core / "frameworks" / "legacy_keras.py").read_text())
    (home / "keras.json").write_text('{"backend": "tensorflow"}')
    program = "import keras, os\nprint(keras.__name__, os.environ['KERAS_HOME'], os.environ['KERAS_BACKEND'])"
    folders = f"{home}:{both}"
    found = run(both, program, PYTHONPATH=folders, TF_USE_LEGACY_KERAS="1", KERAS_BACKEND="jax")
    assert found == f"tf_keras {home} tensorflow\n"
    assert run(both, program, PYTHONPATH=folders, KERAS_BACKEND="jax") == f"keras {home} tensorflow\n"


@pytest.mark.parametrize(
    ("of_tensorflow", "left"), [("keras/api/_v2/keras/__init__.py", None), ("keras/own.py", "1")]
)
def test_a_keras_2_that_is_tensorflows_own_is_not_looked_for_in_tf_keras(
    tmp_path: Path, of_tensorflow: str, left: str | None
) -> None:
    for name in ("keras/__init__.py", of_tensorflow):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    program = PROGRAM[: PROGRAM.index("import keras\n")] + (
        "import os\nprint('keras' in sys.modules, os.environ.get('TF_USE_LEGACY_KERAS'))"
    )
    assert run(tmp_path, program, TF_USE_LEGACY_KERAS="1") == f"False {left}\n"
