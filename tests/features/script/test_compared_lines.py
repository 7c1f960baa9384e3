"""Lines of a program against each other: times of one unit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from fake_runs import cell, measured, replace

from kbench.errors import UserError
from kbench.features.script import call_lines, compared_lines, compared_outputs, events
from kbench.features.script.events import Returned, Site
from kbench.features.script.lines.units import CALL, EPOCH
from kbench.records.reported import Described
from kbench.records.values import Measured

STEPS = 64


def line(name: str, unit: str, seconds: float) -> list[Measured]:
    """Three processes of a line, each of ten such epochs or calls."""
    made = []
    for repeat in (1, 2, 3):
        one = measured(
            cell(f"train.py: {name}", "keras3/jax", repeat=repeat, batch_size=0, samples=0),
            *[seconds * (1 + 0.001 * number) for number in range(10)],
            facts={"task": "script", "unit": unit},
        )
        steps = STEPS if unit == EPOCH else 1
        epochs = [
            msgspec.structs.replace(epoch, step_seconds=(epoch.seconds / steps,) * steps) for epoch in one.epochs
        ]
        made.append(replace(one, epochs=tuple(epochs)))
    return made


@pytest.fixture
def said() -> Any:
    def sentences(*lines: list[Measured], wanted: Sequence[int] = (7, 10), of_cells: Any = ()) -> list[str]:
        run = SimpleNamespace(request={"script": {"compare_lines": [*wanted]}}, provenance={}, measured=of_cells)
        analysis: Any = SimpleNamespace(run=run, row_cells=[one for each in lines for one in each])
        return compared_lines.sentences(analysis)

    return sentences


def test_a_fit_is_compared_with_steps_by_the_step(said: Any) -> None:
    (sentence,) = said(line("fit, line 7", EPOCH, 0.64), line("train_on_batch, line 10", CALL, 0.02))
    assert sentence.startswith("On keras3/jax, train_on_batch, line 10 takes 2.00 times as long as fit, line 7 (")
    assert sentence.endswith(": 0.0201 instead of 0.0100 s a step.")


def test_two_fits_are_compared_by_the_epoch(said: Any) -> None:
    (sentence,) = said(line("fit, line 7", EPOCH, 0.64), line("fit, line 10", EPOCH, 1.28))
    assert sentence.endswith(" s an epoch.")


def test_an_epoch_is_not_compared_with_a_call_that_predicts(said: Any) -> None:
    assert said(line("fit, line 7", EPOCH, 0.64), line("predict, line 10", CALL, 0.02)) == [
        "The lines' times cannot be compared: they are of fit, line 7 by the epoch, of predict, line 10 by the call."
    ]


def test_what_could_not_be_compared_has_its_times_and_the_reason(said: Any) -> None:
    wide, other = (
        [
            replace(
                one,
                epochs=tuple(
                    msgspec.structs.replace(epoch, seconds=number**power, step_seconds=())
                    for number, epoch in enumerate(one.epochs, 1)
                ),
            )
            for one in line(name, EPOCH, 1.0)[:1]
        ]
        for name, power in (("fit, line 7", 6.0), ("fit, line 10", 5.0))
    )
    (sentence,) = said(wide, other)
    assert "could not be compared (" in sentence and " s an epoch): times vary too much; measure again" in sentence


def test_lines_beside_which_other_programs_computed_are_not_compared_by_a_number(said: Any) -> None:
    fast, slow, far = (
        [replace(one, outcome=replace(one.outcome, others=0.9)) for one in line(name, EPOCH, seconds)]
        for name, seconds in (("fit, line 7", 0.64), ("fit, line 10", 3.0), ("fit, line 10", 640.0))
    )
    (sentence,) = said(fast, slow)
    assert "could not be compared: other programs used the processor" in sentence and "0.64" not in sentence
    assert sentence.endswith(": other programs used the processor; end them and measure again.")
    (sentence,) = said(fast, far)
    assert "fit, line 10 is slower than fit, line 7, but by how much is not known: other programs used" in sentence


def test_of_a_line_without_a_call_of_a_model_those_with_one_are_named(said: Any) -> None:
    lines = line("fit, line 7", EPOCH, 0.64), line("predict, line 10", CALL, 0.02)
    assert said(*lines, wanted=[6, 9]) == ["No call of a model was measured in lines 6 and 9, but in lines 7 and 10."]
    sites = {"predict, line 12": Site("predict, line 12", "infer", {})}  # too short for a table
    small = measured(cell("train.py", "keras3/jax"), facts={"of": {"site": sites}})
    (sentence,) = said(*lines, wanted=[6], of_cells=[small])
    assert sentence.endswith(", but in lines 7, 10 and 12.")
    assert said(*lines, wanted=[7, 9]) == ["No call of a model was measured in line 9, but in lines 7 and 10."]


PROGRAM = """import keras
model = keras.Sequential()
# nothing
for _ in range(
    30
):
    model.predict_on_batch(
        x,
    )
print(step(x))
model.fit(x)
"""


@pytest.mark.parametrize(
    ("lines", "refused"),
    [
        ((7, 11), ""),
        ((8, 10), ""),  # within a call, and one that may call a model
        ((1, 3, 4), "no call of a model stands in lines 1, 3 and 4 of train.py: it calls a model in lines 7 and 11."),
        ((7, 99), "no call of a model stands in line 99 of train.py: it calls a model in lines 7 and 11."),
        ((), ""),
    ],
)
def test_a_line_in_which_no_call_stands_is_refused_before_the_program_runs(
    lines: tuple[int, ...], refused: str, tmp_path: Path
) -> None:
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    said = ""
    try:
        call_lines.check(lines, path, "")
    except UserError as error:
        said = str(error).removeprefix("--compare-lines: ")
    assert said == refused


def test_what_may_call_models_in_lines_of_other_files_is_not_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    (tmp_path / "helper.py").write_text("")
    for text in ("import helper\nhelper.main()\n", "exec(open('x').read())\n"):
        path.write_text(text)
        call_lines.check([99], path, "")
    path.write_text(PROGRAM)
    call_lines.check([99], path, "a.module")


ROWS = events.Inputs(outputs=((1.0, 2.0),), norms=(2.0,))
WEIGHTS = (events.Weight("Dense 1", "kernel", "a1", "a1"),)


def returning(
    name: str, backend: str = "keras3/jax", number: float = 0.5, random: int = 0, **changes: Any
) -> Measured:
    told = {"inputs": ROWS, "weights": WEIGHTS, "outputs": ((number, 1.0),), "scales": (1.0,), "random": random}
    of_kind = events.OfLine(Returned(**{**told, **changes}))
    return measured(
        cell(f"train.py: {name}", backend, batch_size=0, samples=0), 0.1, facts={"task": "script", "of_kind": of_kind}
    )


def test_lines_that_return_the_same_are_named_once_with_their_backends() -> None:
    both = [
        *(returning("call, line 7", backend) for backend in ("keras3/jax", "keras3/torch")),
        returning("predict, line 10", "keras3/jax", 0.5 + 2e-7),
        returning("predict, line 10", "keras3/torch"),
    ]
    fits = [fitting("fit, line 3", 0.5), fitting("fit, line 4", 0.5, start="b2")]
    assert compared_outputs.sentences([*fits, *both]) == [
        "On keras3/jax and keras3/torch, predict, line 10 returns the same as call, line 7, to 2e-07 of the largest "
        "number."
    ]


@pytest.mark.parametrize(
    ("changes", "how"),
    [
        (
            {"number": 0.75},
            "predict, line 10 returns something else than call, line 7: outputs off by up to 0.25 of the largest "
            "number (0.0001 is allowed)",
        ),
        (
            {"inputs": events.Inputs(outputs=((1.0, 3.0),), norms=(3.0,))},
            "what predict, line 10 and call, line 7 return is not compared: they are given other inputs",
        ),
        (
            {"weights": (events.Weight("Dense 1", "kernel", "b2", "b2"),)},
            "what predict, line 10 and call, line 7 return is not compared: their models have other weights",
        ),
        (
            {"random": 1},
            "what predict, line 10 and call, line 7 return is not compared: it changes from call to call",
        ),
    ],
)
def test_lines_that_return_something_else_are_named_with_how(changes: dict[str, Any], how: str) -> None:
    parts = [returning("call, line 7"), returning("predict, line 10", **changes)]
    assert compared_outputs.sentences(parts) == [f"On keras3/jax, {how}."]


def fitting(name: str, *losses: float, start: str = "a1", layer: str = "Dense") -> Measured:
    facts = {
        "task": "script", "unit": EPOCH, "start_sha256": start, "content_sha256": "c1", "batch_size": 8,
        "losses": tuple((loss, None) for loss in losses), "layers": (Described(layer, {}, []),),
    }  # fmt: skip
    return measured(cell(f"train.py: {name}", "keras3/jax", batch_size=0, samples=0), 0.1, facts=facts)


@pytest.mark.parametrize(
    ("other", "how"),
    [
        ({}, ["On keras3/jax, fit, line 10 trains as fit, line 7 does: the losses agree."]),
        (
            {"losses": (0.5, 0.6)},
            [
                "On keras3/jax, fit, line 10 trains otherwise than fit, line 7: the loss of epoch 2 is 0.6 instead "
                "of 0.4."
            ],
        ),
        ({"start": "b2"}, []),
        ({"layer": "Dropout"}, []),
    ],
)
def test_fits_from_the_same_weights_are_compared_by_their_losses(other: dict[str, Any], how: list[str]) -> None:
    of_fit = {name: value for name, value in other.items() if name != "losses"}
    parts = [
        fitting("fit, line 7", 0.5, 0.4),
        fitting("fit, line 10", *other.get("losses", (0.5, 0.4001)), **of_fit),
    ]
    assert compared_outputs.sentences(parts) == how
