"""Why a program failed, in a sentence, and what may help: advice that would not help is not given."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from guest_modules import guest

from kbench.features.shims import feature

PROGRAM: dict[str, Any] = {
    "frameworks": ["tensorflow", "jax"],
    "asked": [],
    "may_help": [[feature.SERVED, "--shims may serve it"]],
}


def told(error: BaseException, folder: Path, **program: Any) -> str:
    files = SimpleNamespace(is_own=lambda file: False, statements=list, text=lambda: "")
    with guest(folder, "kbench_script.hosting.reasons") as (reasons,):
        found: str = reasons.reason_of(error, error.__traceback__, files, {**PROGRAM, **program}, "")["message"]
        return found


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(2, "No such file or directory", "weights.h5"),
        OSError("Unable to open file (name = 'period/accuracy.h5')"),
        ValueError("weights of shape (3, 4)"),
        ValueError("the accuracy of a periodical"),
    ],
)
def test_shims_are_not_advised_for_words_that_only_look_alike(error: Exception, tmp_path: Path) -> None:
    assert "--shims" not in told(error, tmp_path)


@pytest.mark.parametrize(
    "error",
    [
        TypeError("__init__() got an unexpected keyword argument 'weights'"),
        KeyError("val_acc"),
        TypeError("got an unexpected keyword argument 'batch_input_shape'"),
        AttributeError("module 'keras.backend' has no attribute 'zeros'"),
    ],
)
def test_shims_are_advised_where_they_serve(error: Exception, tmp_path: Path) -> None:
    assert told(error, tmp_path).endswith("; --shims may serve it")
    assert "--shims" not in told(error, tmp_path, may_help=[])


def test_input_without_an_answer_says_how_to_give_one(tmp_path: Path) -> None:
    error = EOFError("EOF when reading a line")
    assert told(error, tmp_path).endswith(
        "EOF when reading a line; it reads standard input: put the answers into a file, and add `< FILE`"
    )
    assert "standard input" not in told(EOFError("Ran out of input"), tmp_path)  # of pickle


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("yaml", "; --with pyyaml installs it"),
        ("pandas", "; --with pandas installs it"),
        ("my_helpers", "; if that is a package, --with my_helpers installs it"),
        ("kbench", "; a program that kbench measures does without it"),
    ],
)
def test_a_name_that_nobody_knows_may_be_no_package(
    name: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with guest(tmp_path, "kbench_script.hosting.reasons") as (reasons,):
        monkeypatch.setattr(reasons, "is_there", lambda name, inside="": False)
        files = SimpleNamespace(is_own=lambda file: False, statements=list, text=lambda: "")
        error = ModuleNotFoundError(f"No module named {name!r}", name=name)
        assert reasons.reason_of(error, None, files, PROGRAM, "")["message"].endswith(advice)


def test_a_package_that_keras_itself_lacks_is_named_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = ImportError("Could not import IPython.display. The use of `show` requires IPython.")
    with guest(tmp_path, "kbench_script.hosting.reasons") as (reasons,):
        monkeypatch.setattr(reasons, "is_there", lambda name, inside="": False)
        files = SimpleNamespace(is_own=lambda file: False, statements=list, text=lambda: "")
        message = reasons.reason_of(error, None, files, PROGRAM, "")["message"]
    assert message.endswith("; --with ipython installs it")
