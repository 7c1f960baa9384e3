"""Rows that learn unlike the others by more than trainings vary are marked where their verdict stands; only they."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from fake_runs import cell, measured, replace

from kbench.analysis import summaries
from kbench.analysis.learning import unlike_others
from kbench.records.values import Cell, Measured
from kbench.summary import Summary

EXPLAINED = {
    "what": ("1 step", "10 steps"),
    "bound": 1.0,
    "layer": "Embedding",
    "optimizer": "Adam",
    "reason": "Its Adam squares otherwise.",
}
FACTS = {"optimizer": {"class_name": "Adam"}, "layers": [["Embedding", {}, []], ["GRU", {}, []]]}
CHANGE = {
    "class": "Dense",
    "number": 1,
    "weight": "kernel",
    "norm": 5.0,
    "change": 0.5,
    "sums": [0.5],
    "rounding": 0.0,
}
ROUNDING, LAYERS = (), ("dropout",)  # the random numbers of layers
NAMES = ("keras2/cntk", "keras2/theano", "keras3/jax", "keras3/tensorflow")
OTHERS = {"final": 0.93, "before": 0.92}
# What is in kbench's table of trainings: example, samples, epochs, batch size and validation samples.
MLP, CNN = ("mnist_mlp", 10000, 8, 128, 5000), ("mnist_cnn", 5000, 3, 128, 2000)
UNKNOWN = ("my_model", 10000, 8, 128, 5000)
Scores = Mapping[str, float | Sequence[float]]


def trained(
    backend: str,
    scores: Scores,
    draws: Sequence[str] = LAYERS,
    work: tuple[str, int, int, int, int] = UNKNOWN,
    facts: Mapping[str, object] | None = None,
    **changes: Any,
) -> Measured:
    """A cell whose scores are these: of the last epochs, or of the last two if it is one number."""
    example, samples, epochs, batch_size, validated = work
    sizes = {"samples": samples, "epochs": epochs, "batch_size": batch_size, "validation_samples": validated}
    step = {"loss": 2.5, "loss_rounding": 1e-7, "changes": [CHANGE], "draws": draws}
    several: dict[str, Any] = {
        name: list(value) if isinstance(value, Sequence) else [value, value] for name, value in scores.items()
    }
    count = len(next(iter(several.values())))
    one: Cell = replace(cell(example, backend), **sizes, **changes)
    return measured(one, *[1.0] * count, facts={"weights": "seeded", "first_step": step, **(facts or {})}, **several)


def noted(cells: Sequence[Measured]) -> dict[str, list[str]]:
    """Backend -> what is said of its learning."""
    rows = unlike_others.add_notes(summaries.summarise(cells), cells)
    kinds = ("learning", "score apart")
    return {
        row.backend: [one.kind for one in row.findings if one.kind in kinds]
        for row in rows
        if row.has("learning") or row.has("score apart")
    }


def of_all(scores: Sequence[Scores], *args: Any, names: Sequence[str] = NAMES, **changes: Any) -> list[Measured]:
    return [trained(name, one, *args, **changes) for name, one in zip(names, scores, strict=False)]


def row_of(cells: Sequence[Measured], backend: str) -> Summary:
    return next(row for row in unlike_others.add_notes(summaries.summarise(cells), cells) if row.backend == backend)


@pytest.mark.parametrize(
    ("work", "scores"),
    [
        (
            MLP,
            [
                {"val_accuracy": one, "loss": loss}
                for one, loss in ((0.9472, 0.0347), (0.9328, 0.0323), (0.9456, 0.034))
            ],
        ),
        (CNN, [{"val_accuracy": one} for one in (0.9425, 0.9215, 0.939)]),
    ],
    ids=["mnist_mlp", "mnist_cnn"],
)
def test_honest_trainings_of_one_seed_with_dropout_accuse_nobody(work: Any, scores: list[Scores]) -> None:
    assert "learning" not in str(noted(of_all(scores, work=work)))
    assert "learning" not in str(noted(of_all(scores[:2], work=work)))


@pytest.mark.parametrize("draws", [ROUNDING, LAYERS], ids=["rounding", "random layers"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_backend_that_does_not_learn_is_named_beside_one_other_or_several(count: int, draws: Sequence[str]) -> None:
    learns = {"val_accuracy": 0.93, "val_loss": 0.22, "loss": 0.2, "accuracy": 0.94}
    does_not = {"val_accuracy": 0.1, "val_loss": 2.3, "loss": 2.3, "accuracy": 0.1}
    varied = [{name: value * (1 + 0.002 * place) for name, value in learns.items()} for place in range(count - 1)]
    assert noted(of_all([*varied, does_not], draws)) == {NAMES[count - 1]: ["learning"]}


def test_the_size_of_a_difference_is_named_in_points_and_per_cent() -> None:
    alike = [{"val_accuracy": 0.93 + 0.001 * place, "val_loss": 0.22} for place in range(3)]
    odd = row_of(of_all([*alike, {"val_accuracy": 0.5, "val_loss": 0.22}]), "keras3/tensorflow")
    assert odd.notes == (
        "does not learn like the others: validation accuracy 43.1 points lower (0.5000 against 0.9310). One "
        "training: `--seeds 5` shows whether it is always so",
    )
    by_loss = row_of(
        of_all([*[{"val_accuracy": 0.8, "val_loss": 0.5}] * 3, {"val_accuracy": 0.799, "val_loss": 0.65}], ROUNDING),
        NAMES[3],
    )
    assert (
        "others: validation loss 30% higher (0.65 against 0.5), validation accuracy 0.1 points lower"
        in by_loss.notes[0]
    )
    (two,) = row_of(of_all([{"val_loss": 0.5}, {"val_loss": 2.5}], ROUNDING), NAMES[1]).notes
    assert two.startswith("does not learn like keras2/cntk: validation loss 5.00 times as high (2.5 against 0.5).")


def test_without_random_layers_a_small_difference_shows_that_dropout_would_explain() -> None:
    scores = [{"val_loss": 0.5 * (1 + 1e-5 * place)} for place in range(3)] + [{"val_loss": 0.53}]
    assert noted(of_all(scores, ROUNDING)) == {"keras3/tensorflow": ["learning"]}
    varied = [{"val_loss": one} for one in (0.5, 0.512, 0.49, 0.53)]
    assert noted(of_all(varied, LAYERS)) == {}
    less = [*scores[:3], {"val_loss": 0.504}]
    assert noted(of_all(less, ROUNDING)) == {}, "that does not matter, however sure it is"


def test_a_loss_that_fell_to_almost_nothing_is_as_good_as_another() -> None:
    assert noted(of_all([{"loss": 0.001}, {"loss": 0.001}, {"loss": 0.02}], ROUNDING)) == {}
    assert noted(of_all([{"loss": 0.001}, {"loss": 0.001}, {"loss": 0.2}], ROUNDING)) == {NAMES[2]: ["learning"]}


def test_steps_that_differ_a_little_as_is_declared_make_other_trainings() -> None:
    apart = [0.5, 0.50001, 0.50002, 0.53]
    declared = {**EXPLAINED, "bound": 0.05, "layer": "", "unlike": ("keras2",)}
    of_odd = {**FACTS, "explained": [declared]}
    step = {"loss": 2.5, "loss_rounding": 1e-7, "draws": [], "changes": [{**CHANGE, "change": 0.51}]}
    *alike, odd = of_all([{"val_loss": one} for one in apart], ROUNDING, facts=FACTS)
    perturbed = trained(odd.cell.backend, {"val_loss": 0.53}, ROUNDING, facts={**of_odd, "first_step": step})
    assert noted([*alike, odd]) == {"keras3/tensorflow": ["learning"]}
    assert noted([*alike, perturbed]) == {}


def test_a_difference_in_the_last_epoch_alone_is_a_jump() -> None:
    alike = [{"val_accuracy": [0.92, 0.93 + 0.001 * place]} for place in range(3)]
    assert noted(of_all([*alike, {"val_accuracy": [0.92, 0.6]}])) == {}
    assert noted(of_all([*alike, {"val_accuracy": [0.6, 0.6]}])) == {"keras3/tensorflow": ["learning"]}


def test_where_scores_jump_from_epoch_to_epoch_a_difference_says_little() -> None:
    steady = [{"val_loss": [0.5, 0.5, 0.5, 0.5, 0.5, end, end, end]} for end in (0.5, 0.501, 0.9)]
    jumping = [{"val_loss": [0.5, 0.9, 0.3, 0.8, 0.4, 0.9, end, end]} for end in (0.5, 0.501, 0.9)]
    assert noted(of_all(steady)) == {"keras3/jax": ["learning"]}
    assert noted(of_all(jumping)) == {}


def test_versions_of_one_backend_draw_the_same_numbers_and_accuse_no_other() -> None:
    names = ("keras3/jax", "keras3/jax@0.9", "keras3/jax+jit=off", "keras3/torch")
    scores = [{"val_accuracy": one} for one in (0.94, 0.94, 0.94, 0.915)]
    assert noted(of_all(scores, work=CNN, names=names)) == {}
    assert noted(of_all(scores, ROUNDING, work=CNN, names=names)) == {"keras3/torch": ["learning"]}


def test_several_seeds_show_what_one_does_not() -> None:
    usual = (0.94, 0.944, 0.937, 0.941, 0.9395)
    noise = ((0, 0, 0, 0, 0), (0.002, -0.003, 0.001, 0.003, -0.002), (-0.022, -0.024, -0.019, -0.021, -0.023))
    cells = [
        [
            trained(name, {"val_accuracy": usual[seed] + of_row[seed]}, work=MLP, seed=seed, repeat=seed + 1)
            for name, of_row in zip(NAMES, noise, strict=False)
        ]
        for seed in range(5)
    ]
    assert "learning" not in str(noted(cells[0]))
    assert noted([one for its in cells for one in its]) == {"keras3/jax": ["learning"]}
    several = row_of([one for its in cells for one in its], "keras3/jax")
    assert several.notes[0].endswith("lower (0.9185 against 0.9404)")


def test_seeds_that_disagree_show_no_difference() -> None:
    accuracies = ((0.305, 0.414), (0.203, 0.227), (0.391, 0.391), (0.359, 0.359), (0.25, 0.234))
    cells = [
        trained(name, {"val_accuracy": accuracy}, LAYERS, seed=seed, repeat=seed + 1)
        for seed, of_seed in enumerate(accuracies)
        for name, accuracy in zip(NAMES, of_seed, strict=False)
    ]
    assert noted(cells) == {}


def test_more_trainings_are_asked_for_where_one_is_unusual_but_no_proof() -> None:
    scores = [{"val_accuracy": one} for one in (0.9445, 0.941, 0.9475, 0.9245)]
    (note,) = row_of(of_all(scores, work=MLP), "keras3/tensorflow").notes
    assert note == (
        "it may learn differently from the others, or this is chance: validation accuracy 2.0 points lower (0.9245 "
        "against 0.9445). `--seeds 5` tells"
    )


def with_odd(facts: Mapping[str, Any] = FACTS, **changes: Any) -> Summary:
    cells = of_all([{"val_accuracy": 0.65, "val_loss": 0.6}] * 3, facts=facts)
    known = {**facts, "explained": [{**EXPLAINED, **changes}]}
    return row_of(
        [*cells, trained("keras3/tensorflow", {"val_accuracy": 0.3, "val_loss": 0.6}, facts=known)],
        "keras3/tensorflow",
    )


def test_the_note_names_the_known_difference_instead_of_chance() -> None:
    odd = with_odd()
    assert odd.notes == (
        "does not learn like the others: validation accuracy 35.0 points lower (0.3000 against 0.6500). A known "
        "difference may be why (docs/parity.md): Its Adam squares otherwise",
    )
    assert odd.learning_cause == "Its Adam squares otherwise."


@pytest.mark.parametrize(
    ("facts", "changes"),
    [
        ({**FACTS, "optimizer": {"class_name": "SGD"}}, {}),
        ({**FACTS, "layers": [["Dense", {}, []]]}, {}),
        (FACTS, {"unlike": ("keras3/torch", "keras2/mxnet")}),
        (FACTS, {"what": ("loss",)}),
    ],
    ids=["optimizer", "layer", "like the others", "not of training"],
)
def test_what_does_not_fit_the_training_is_no_cause(facts: dict[str, Any], changes: dict[str, Any]) -> None:
    odd = with_odd(facts, **changes)
    assert odd.learning_cause == "" and "`--seeds 5` shows whether it is always so" in odd.notes[-1]


def test_the_cause_is_that_of_its_own_cell_where_an_example_has_several_tasks() -> None:
    known = {**FACTS, "explained": [EXPLAINED]}
    scores = [{"val_accuracy": 0.65}] * 3 + [{"val_accuracy": 0.2}]
    odd = trained(NAMES[3], scores[3], facts=known, axes={"task": "train"})
    trains = [*of_all(scores[:3], axes={"task": "train"}), odd]
    infers = [
        measured(cell("my_model", name, axes={"task": "infer"}), 1.0, facts={"explained": []}) for name in NAMES
    ]
    rows = unlike_others.add_notes(summaries.summarise([*trains, *infers]), [*trains, *infers])
    assert [(row.backend, row.learning_cause) for row in rows if row.has("learning")] == [
        (NAMES[3], EXPLAINED["reason"])
    ]


def test_a_row_without_a_finite_score_hides_no_other() -> None:
    scores = [{"loss": 0.5, "val_loss": 0.6}] * 3 + [{"loss": float("nan"), "val_loss": float("nan")}]
    assert noted(of_all(scores)) == {}
    odd = {"loss": 5.0, "val_loss": 6.0}
    assert noted(of_all([*scores, odd], names=(*NAMES, "keras3/torch"))) == {"keras3/torch": ["learning"]}


def test_a_loss_that_was_as_far_off_after_the_first_epoch_may_come_from_initial_weights_of_its_own() -> None:
    work, own = ("my_model", 768, 5, 32, 0), {"weights": "backend", "first_step": None}
    falls, began_higher = (0.171, 0.108, 0.0794, 0.0593, 0.0454), (0.390, 0.236, 0.191, 0.156, 0.126)
    names = ("keras3/jax", "keras3/torch")
    assert noted(of_all([{"loss": falls}, {"loss": began_higher}], ROUNDING, work, own, names=names)) == {
        "keras3/torch": ["score apart"]
    }
    slower = (0.171, 0.160, 0.150, 0.138, 0.126)
    assert noted(of_all([{"loss": falls}, {"loss": slower}], ROUNDING, work, own, names=names)) == {
        "keras3/torch": ["learning"]
    }


def test_trainings_of_other_numbers_of_epochs_are_not_compared() -> None:
    learns, stopped = (1.6, 0.9, 0.5, 0.2, 0.03), (1.8, 1.7, 1.6)
    names, own = ("keras3/tensorflow", "keras3/jax"), {"weights": "backend", "first_step": None}
    work = ("my_model", 64, 5, 64, 0)
    assert noted(of_all([{"loss": learns}, {"loss": stopped}], ROUNDING, work, own, names=names)) == {}
    assert noted(of_all([{"loss": learns[:3]}, {"loss": stopped}], ROUNDING, work, own, names=names)) != {}
