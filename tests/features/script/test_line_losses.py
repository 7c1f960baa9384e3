"""A program's fits that begin alike have the same loss in their first epoch, or they are not ranked."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from fake_runs import cell, measured, replace

from kbench.analysis.summaries import summarise
from kbench.base.paths import project_folder
from kbench.features.script.events import OfLine, Site, of_line
from kbench.features.script.lines.units import EPOCH
from kbench.features.script.program_work import ProgramWork
from kbench.features.script.told import unlike_calls
from kbench.records.values import SCRIPT, Measured
from kbench.selection.backends import load_all
from kbench.summary import Summary

SITE = "train.py: fit, line 9"
DENSE: list[Any] = ["Dense", {"units": 4}, []]


def line(name: str, loss: float, later: float = 0.3, **facts: Any) -> Measured:
    about = {
        "task": "train",
        "unit": EPOCH,
        "parameters": 9,
        "layers": [DENSE],
        "samples": 320,
        "batch_size": 32,
        "start_sha256": "ab",
        "in_order": 1,
        "losses": [[loss, None], [later, None]],
        **facts,
    }
    return measured(cell(SITE, f"keras9/{name}"), 3.0, 1.0, facts=about, loss=loss)


def rows(*cells: Measured) -> dict[str, Summary]:
    return {row.backend: row for row in summarise(cells)}


def test_a_loss_that_is_far_off_takes_its_rank_and_is_the_first_sentence() -> None:
    found = rows(line("a", 1.14), line("b", 0.69, own_code=1))
    assert found["keras9/b"].relative_to_fastest is None and found["keras9/a"].relative_to_fastest == 1
    assert unlike_calls.sentences(list(found.values())) == [
        "On keras9/b, fit, line 9 is unlike keras9/a in the loss of epoch 1: 0.690 instead of 1.14, from the same "
        "weights and batches, so it is not compared."
    ]
    of_three = rows(line("b", 0.69), line("a", 1.14), line("c", 1.14))
    assert [name for name, row in of_three.items() if row.differs] == ["keras9/b"]
    unknown = line("c", 1.14, start_sha256=None)  # its first step makes its weights
    for of_two in (rows(line("b", 0.69), line("a", 1.14), unknown), rows(unknown, line("a", 1.14), line("b", 0.69))):
        assert [name for name, row in of_two.items() if row.differs] == ["keras9/b"], "the one that stands alone"


LSTM: list[Any] = ["LSTM", {"dropout": 0.2}, []]
KNOWN = [{"what": ["1 step"], "bound": 0.1, "bound_of_loss": 0.45, "layer": "Dense", "reason": "It is known."}]

WEIGHTED = [{**KNOWN[0], "what": ["rising loss"], "bound_of_loss": 0.9, "setting": "sample weights", "layer": ""}]


@pytest.mark.parametrize(
    "other",
    [
        line("b", 1.05),
        line("b", 0.69, start_sha256="cd"),
        line("b", 0.69, start_sha256=None),
        line("b", 0.69, in_order=0),
        line("b", 0.69, batch_size=64),
        line("b", 0.95, own_code=1),
        line("b", 0.95, layers=[LSTM]),
        line("b", 0.69, explained=KNOWN),
        line("b", 0.69, explained=WEIGHTED, sample_weights="ab"),
        line("b", float("nan"), losses=[]),
    ],
)
def test_what_begins_otherwise_or_may_differ_so_is_compared_as_before(other: Measured) -> None:
    dropout = other.facts.layers[0].class_name == "LSTM"  # type: ignore[index]
    usual = line("a", 1.14, layers=[LSTM if dropout else DENSE], sample_weights=other.facts.sample_weights)
    assert not any(one.kind == "epoch" for row in rows(usual, other).values() for one in row.findings)


def test_with_dropout_few_steps_may_be_far_apart() -> None:
    def with_dropout(name: str, loss: float, samples: int) -> Measured:
        return line(name, loss, layers=[["Dropout", {"rate": 0.5}, []], DENSE], samples=samples)

    assert rows(with_dropout("a", 1.14, 320), with_dropout("b", 0.8, 320))["keras9/b"].differs
    assert not rows(with_dropout("a", 1.14, 64), with_dropout("b", 0.8, 64))["keras9/b"].differs


def test_weights_that_are_spread_otherwise_at_the_start_are_the_first_sentence() -> None:
    def start(name: str, **spreads: float) -> Measured:
        given = {f"{layer} 1": spread for layer, spread in spreads.items()}
        return line(name, 0.7, start_sha256=name, start_spreads=given)

    found = rows(start("a", Dense=0.17, GRU=0.3), start("b", Dense=1.7, GRU=0.35))
    assert found["keras9/b"].relative_to_fastest is not None, "it does the same work"
    assert unlike_calls.sentences(list(found.values())) == [
        "On keras9/b, fit, line 9 is unlike keras9/a in its spread of initial weights: Dense 1 1.7 instead of 0.17."
    ]
    assert not unlike_calls.sentences([*rows(start("a", Dense=0.17), start("b", Dense=0.2, GRU=9.0)).values()])
    zeros = rows(start("a", Dense=0.0), start("b", Dense=0.0), start("c", Dense=0.1))
    assert [name for name, row in zeros.items() if row.findings] == ["keras9/c"]


def test_later_losses_are_compared_where_two_that_follow_each_other_are_apart() -> None:
    def fit(name: str, *losses: float) -> Measured:
        return line(name, losses[0], losses=[[loss, None] for loss in losses])

    usual, other = (2.32, 0.173, 0.153, 0.135), (2.41, 0.265, 0.24, 0.218)
    found = rows(fit("b", *other), fit("a", *usual), fit("c", *usual))
    assert [name for name, row in found.items() if row.differs] == ["keras9/b"]
    assert "the loss of epoch 2: 0.265 instead of 0.173" in unlike_calls.sentences(list(found.values()))[0]
    for honest in ((2.41, 0.265, 0.153, 0.218), (2.41, 0.19, 0.17, 0.15), (2.41, 3.7, 0.9, 0.9), (2.41, 0.265)):
        assert not any(row.differs for row in rows(fit("a", *usual), fit("b", *honest)).values()), honest
    again = rows(
        *(
            line(name, losses[0], losses=[[one, None] for one in losses], calls=2)
            for name, losses in (("a", usual), ("b", other))
        )
    )
    assert not any(row.differs for row in again.values()), "each call may have a model of its own"
    small = rows(fit("a", 2.0, 1e-4, 1e-5, 1e-6), fit("b", 2.0, 2e-4, 9e-5, 1e-4))
    assert not any(row.differs for row in small.values()), "both have learnt it"


def with_metrics(
    name: str, keras_version: str = "3.1", samples: int = 320, loss: float = 1.14, **metrics: float
) -> Measured:
    one = line(name, loss, keras_version=keras_version, samples=samples)
    first, *others = one.epochs
    return replace(one, epochs=(msgspec.structs.replace(first, metrics={"loss": loss, **metrics}), *others))


def test_an_extra_loss_that_one_backend_leaves_out_is_the_first_sentence() -> None:
    found = rows(with_metrics("a", penalty=0.678), with_metrics("b", penalty=0.0), with_metrics("c", penalty=0.68))
    assert unlike_calls.sentences(list(found.values())) == [
        "On keras9/b, fit, line 9 has another penalty than keras9/a in epoch 1, at the same loss: 0 instead of 0.678."
    ]
    assert not any(row.differs for row in found.values()), "it trains the same: its time is compared"
    third = line("c", 1.14, start_sha256=None)
    unlike = rows(with_metrics("a", penalty=0.0, loss=0.6), with_metrics("b", penalty=0.678), third)
    (said,) = unlike_calls.sentences(list(unlike.values()))
    assert said.startswith("On keras9/a, fit, line 9 is unlike keras9/b in the loss"), "and only that of its metrics"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (with_metrics("a", penalty=0.678), with_metrics("b", penalty=0.63)),
        (with_metrics("a", bias=0.001), with_metrics("b", bias=-0.002)),  # what cancels
        (with_metrics("a", accuracy=0.3), with_metrics("b", accuracy=0.4)),  # of few samples
        (with_metrics("a", f1=0.3), with_metrics("b", f1=0.9, keras_version="2.2.4")),
        (with_metrics("a", learning_rate=0.1), with_metrics("b", learning_rate=0.9)),
        (with_metrics("a", val_f1=0.1), with_metrics("b", val_f1=0.9)),
        (with_metrics("a", f1=0.1), with_metrics("b")),
        (with_metrics("a", f1=0.1), with_metrics("b", f1=float("nan"))),
    ],
)
def test_other_metrics_are_not_told_apart(one: Measured, other: Measured) -> None:
    assert unlike_calls.sentences(list(rows(one, other).values())) == []


def test_an_accuracy_of_many_samples_is_told_apart() -> None:
    found = rows(with_metrics("a", accuracy=0.3, samples=9600), with_metrics("b", accuracy=0.4, samples=9600))
    assert "has another accuracy than keras9/a" in unlike_calls.sentences(list(found.values()))[0]


FAULT = [{"what": ["10 steps"], "bound": 2.0, "optimizer": "Adam", "fault": True, "reason": "Adam has a fault."}]
ADAM = {"class_name": "Adam"}


def test_a_known_fault_is_named_with_what_says_more_and_is_no_reason_to_allow_more() -> None:
    def fit(name: str, loss: float, **facts: Any) -> Measured:
        return line(name, loss, optimizer=ADAM, of_kind=OfLine(says_why="--explain"), **facts)

    said = unlike_calls.sentences(list(rows(fit("a", 1.14), fit("b", 1.0, explained=FAULT)).values()))
    assert said == [
        "On keras9/b, fit, line 9 is unlike keras9/a in the loss of epoch 1: 1.00 instead of 1.14, from the same "
        "weights and batches, so it is not compared. A known difference may be why: Adam has a fault. The same "
        "command with --explain says where they part."
    ]


def test_what_says_why_is_the_option_of_a_feature_that_was_not_given() -> None:
    sites = {"fit, line 9": Site("fit, line 9", "train", {})}
    program = measured(cell("train.py", "a/x"), 3.0, 1.0, facts={"task": SCRIPT, "of": {"site": sites}})
    one = replace(program, epochs=tuple(msgspec.structs.replace(each, site="fit, line 9") for each in program.epochs))
    for asked, option in (({}, "--explain"), ({"trace": True}, "--explain"), ({"explain": True}, "")):
        first, *_ = ProgramWork().row_cells([one], {"asked": asked})
        assert of_line(first.facts).says_why == option


@pytest.mark.parametrize(("backend", "faults"), [("jax", 0), ("torch", 1), ("tensorflow", 2)])
def test_what_is_known_of_an_optimizer_on_each_backend_is_declared(backend: str, faults: int) -> None:
    known = load_all(project_folder("backends"))[f"keras3/{backend}"].explained
    assert sum(one.optimizer == "ScheduleFreeAdamW" and one.fault for one in known) == faults
