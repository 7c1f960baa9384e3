"""The benchmark of coverage: what it plants, where, and whose public names are tried then."""

from __future__ import annotations

import importlib.util
import sys
import textwrap
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import planted_cell  # noqa: E402
import planted_mutants as mutants  # noqa: E402


def planted(text: str) -> dict[tuple[str, str], str]:
    """Kind of a mutant, and what it changes -> what takes its place; of this text of a file."""
    found = mutants.of_file("layers/some.py", textwrap.dedent(text).encode())
    return {(one.kind, one.was): one.now for one in found}


@pytest.mark.parametrize(
    ("line", "kind", "was", "now"),
    [
        ("x + 0.5", "constant", "0.5", "0.625"),
        ("f(x, fast=True)", "constant", "True", "False"),
        ("x[1]", "constant", "1", "2"),
        ("x - y", "sign", "x - y", "((x) + (y))"),
        ("-x", "sign", "-x", "(x)"),
        ("ops.add(x, y)", "sign", "ops.add(x, y)", "ops.subtract(x, y)"),
        ("x < y", "comparison", "x < y", "(x <= y)"),
        ("ops.maximum(x, y)", "comparison", "ops.maximum(x, y)", "ops.minimum(x, y)"),
        ("ops.sum(x, axis=-1)", "axis", "-1", "-2"),
        ("x.shape[1]", "axis", "1", "2"),
        ("ops.sum(x, keepdims=True)", "axis", "True", "False"),
        ("x / y", "dropped term", "x / y", "(x)"),
        ("f(x, mask=y)", "ignored argument", "f(x, mask=y)", "f(x)"),
        ("f(rate)", "ignored argument", "rate", "0.3"),
    ],
)
def test_each_kind_of_change_is_planted(line: str, kind: str, was: str, now: str) -> None:
    assert planted(f"def call(x, y, rate=0.3):\n    return {line}\n")[kind, was] == now


def test_texts_errors_and_defaults_are_left_as_they_are() -> None:
    text = """
        def call(x, y=2):
            "Of 3."
            if not x:
                raise ValueError(f"{3 + 4}", 3)
            warnings.warn("4" + x)
            return [1 + y] + x.list, "a" + x
        """
    assert {was for _, was in planted(text)} == {"1", "1 + y", "y", "warnings.warn"} - {"warnings.warn"}


def test_a_mutant_is_the_file_with_one_change_whatever_letters_it_has() -> None:
    source = "# café\ndef call(x):\n    é = 'ü'; return x - 1\n".encode()
    (one,) = (each for each in mutants.of_file("layers/some.py", source) if each.kind == "sign")
    assert one.planted(source) == source.replace(b"x - 1", b"((x) + (1))")
    assert (one.owner, one.function, one.line) == ("call", "call", 2)


def test_what_is_drawn_follows_from_the_seed_and_fewer_are_the_first_of_more(tmp_path: Path) -> None:
    for folder in ("layers", "losses", "backend/torch/optimizers"):
        (tmp_path / "src" / folder).mkdir(parents=True)
        lines = "".join(f"def f{number}(x):\n    return -x * 2 + {number}.5\n" for number in range(9))
        (tmp_path / "src" / folder / "some.py").write_text(lines)
    drawn = [one.id for one in mutants.draw(tmp_path, 25, 0)]
    assert len({*drawn}) == 27 and drawn[:7] == [one.id for one in mutants.draw(tmp_path, 7, 0)][:7]
    assert [one.startswith("backend/torch/optimizers/") for one in drawn] == [False] * 25 + [True] * 2
    assert drawn != [one.id for one in mutants.draw(tmp_path, 20, 1)]


def test_the_names_of_a_function_are_those_that_mention_it_the_nearest_first(tmp_path: Path) -> None:
    (tmp_path / "src" / "layers").mkdir(parents=True)
    (tmp_path / "src" / "layers" / "some.py").write_text(
        """
def _helper(x): return x
@keras_export(["keras.ops.near", "keras.ops.nn.near"])
def near(x): return _helper(x)
@keras_export("keras.layers.Far")
class Far:
    def call(self, x): return ops.near(x)
@keras_export("keras.layers.Other")
class Other: ...
"""
    )
    mentions = mutants.Mentions(tmp_path, {"ops.near", "layers.Far", "layers.Other"})
    assert mentions.of("_helper", 5, lambda name: (True, 0.0)) == ["ops.near", "layers.Far"]
    assert mentions.of("_helper", 1, lambda name: (True, 0.0)) == ["ops.near"]


def test_a_mutant_takes_the_place_of_the_code_that_runs_and_leaves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keras" / "src" / "some.py"
    file.parent.mkdir(parents=True)
    file.write_text("def twice(x):\n    return x + x\n\n\nclass Layer:\n    def call(self, x):\n        return -x\n")
    spec = importlib.util.spec_from_file_location("planted_in_test", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(planted_cell, "COPY", tmp_path)
    made = [one for one in mutants.of_file("some.py", file.read_bytes()) if one.kind == "sign"]
    planting = planted_cell.Planting([vars(one) for one in made])
    twice, layer = module.twice, module.Layer()
    assert (twice(3), layer.call(3)) == (6, -3)
    for number, expected in ((1, (0, -3)), (2, (6, 3)), (0, (6, -3))):
        planting.plant(number)
        assert (twice(3), layer.call(3)) == expected
