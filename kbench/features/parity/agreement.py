"""Compares what the backends computed on one batch: with a numpy reference, or with the median, layer by layer.

Pure functions over arrays. docs/parity.md gives the reasons for the tolerances.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from kbench.analysis.sameness.declared import WordsOfLayers, can_show, concerns, explains, parts
from kbench.features.parity import events, faults
from kbench.features.parity.deviations import Scale, form, loss_deviation, output_deviation, scale_of, step_deviation
from kbench.features.parity.of_others import by_others, of_both, of_others
from kbench.features.parity.values import Agreement, Computed, Deviation, LayerOutput, ParityStep, Subject
from kbench.records.backend_keys import QUANTITIES, Explanation

if TYPE_CHECKING:
    from kbench.features.parity.values import Array

SAME = "same"
EXPLAINED = "explained"
DIFFERS = "differs"
ALONE = "alone"
VERDICTS = (SAME, EXPLAINED, DIFFERS, ALONE)

STEPS = (1, 10)
TOLERANCES: Mapping[str, float] = {
    "outputs": 1e-4,  # of each number, or of the largest one where that is above 1
    "layers": 1e-4,  # likewise
    "loss": 1e-5,  # relative
    "1 step": 1e-4,  # of the norm of a layer's weights
    "10 steps": 1e-3,  # likewise: ten times the deviation of one step
}
ROUNDING = 4.0  # rounding explains a deviation of up to so many times a backend's own
NUMPY = "numpy"
ONLY = "one without a known fault"
OTHER_MODEL = "model"  # an error's kind: a script's model has other weights than on the first backend


@dataclass(frozen=True)
class _Standard:
    """What the subjects of one example are compared with."""

    name: str
    outputs: Array
    loss: float | None
    layers: Mapping[tuple[str, int], Array]


def compare(subjects: Sequence[Subject]) -> list[Agreement]:
    """A row for each subject, in their order; the subjects of an example stand together."""
    rows: list[Agreement] = []
    for _, group in groupby(subjects, key=lambda subject: subject.measured.cell.example):
        rows += _compare_example(list(group))
    return rows


def _compare_example(subjects: Sequence[Subject]) -> list[Agreement]:
    there = [subject.computed for subject in subjects if subject.computed is not None]
    sure = [one.computed for one in subjects if one.computed is not None and not _is_faulty(one)] or there
    standard = _standard(sure, alone=len(there) == 1)
    forward = {id(computed): _forward(computed, standard) if standard else ({}, None) for computed in there}
    # A backend that computes another model must not move the others' median.
    sound = [computed for computed in there if verdict_on(forward[id(computed)][0], ())[0] != DIFFERS] or there
    scales = {number: _scales(there, number) for number in STEPS}
    steps = {number: _middle_step(sound, number, scales[number]) for number in STEPS}
    names = {id(one.computed): one.measured.cell.backend for one in subjects if one.computed is not None}
    losses = [computed.reported for computed in sound if computed.reported is not None]
    reported = _middle_number(losses) if len(losses) > 1 else None
    moves = {names[id(one)]: _own_deviations(one, scales) for one in there}
    pair = [subject for subject in subjects if any(subject.computed is one for one in sound)]
    rows = []
    compared = []
    for subject in subjects:
        if len(pair) == 2 and any(subject is one for one in pair):
            # Two are equally far from their mean: what explains one explains both.
            subject = replace(subject, explained=of_both(pair, subject))
        else:
            subject = replace(subject, explained=(*subject.explained, *of_others(subjects, subject)))
        computed, deviations = subject.computed, dict[str, Deviation]()
        if computed is not None:
            deviations = _with_reported(forward[id(computed)][0], computed.reported, reported)
            for number, middle in steps.items():
                if middle is not None and number in computed.steps:
                    nearest = next((names[id(one)] for one in sound if one.steps.get(number) is middle), "")
                    own = computed.steps[number]
                    deviations[_named(number)] = replace(_deviation(own, middle, scales[number]), against=nearest)
        compared.append(_Compared(subject, deviations))
    for number, middle in steps.items():
        _without_majority(compared, number, middle, moves)
    for one in compared:
        computed = one.subject.computed
        first = None if computed is None else forward[id(computed)][1]
        reference = standard.name if standard and computed is not None else ""
        row = _row(one, reference, first, moves if computed is not None else {})
        rows.append(replace(row, by_others=by_others(subjects, one.subject, row.notes)))
    return rows


@dataclass
class _Compared:
    """A subject, with how far it is from what it is compared with."""

    subject: Subject
    deviations: dict[str, Deviation]
    notes: list[str] = field(default_factory=list)


def _without_majority(
    compared: Sequence[_Compared], number: int, middle: ParityStep | None, moves: Mapping[str, Mapping[str, float]]
) -> None:
    """Where no two of several backends agree after so many steps, nobody is the measure: all are said to differ."""
    what = _named(number)
    stepped = [one for one in compared if what in one.deviations]
    middles = [one for one in stepped if one.subject.computed and one.subject.computed.steps[number] is middle]
    others = [one for one in stepped if one not in middles]
    apart = [one for one in others if _reasons(what, one.deviations[what], _excuses(one, moves)) is None]
    if len(middles) != 1 or len(others) < 2 or len(apart) < len(others):
        return
    nearest = min(others, key=lambda one: one.deviations[what].size)
    against = nearest.subject.measured.cell.backend
    middles[0].deviations[what] = replace(nearest.deviations[what], against=against)
    for one in stepped:
        one.notes.append(f"no two backends agree after {what}, so none of them is the measure")


_Scales = Mapping[object, Scale]  # by the model's form


def _scales(computed: Sequence[Computed], number: int) -> _Scales:
    """What deviations after so many steps are measured in."""
    alike: dict[object, list[ParityStep]] = {}
    for one in computed:
        for step in (one.steps.get(number), one.moved.get(number)):
            if step is not None:
                alike.setdefault(form(step), []).append(step)
    return {its_form: scale_of(steps) for its_form, steps in alike.items()}


def _deviation(own: ParityStep, middle: ParityStep, scales: _Scales) -> Deviation:
    return step_deviation(own, middle, scales[form(own)])


def _own_deviations(computed: Computed, scales: Mapping[int, _Scales]) -> dict[str, float]:
    """How far a backend deviates from itself if its initial weights move by one unit in the last place."""
    found = {
        _named(number): _deviation(moved, computed.steps[number], scales[number]).size
        for number, moved in computed.moved.items()
        if number in computed.steps
    }
    return {**found, "loss": loss_deviation(computed.moved_reported, computed.reported) or 0.0}


def _named(number: int) -> str:
    return f"{number} step{'s' * (number > 1)}"


def _row(
    compared: _Compared, reference: str, first: Deviation | None, moves: Mapping[str, Mapping[str, float]]
) -> Agreement:
    """`moves`: backend -> how far it deviates from itself."""
    subject, deviations = compared.subject, compared.deviations
    cell, outcome = subject.measured.cell, subject.measured.outcome
    verdict = DIFFERS if subject.measured.facts.error_kind == OTHER_MODEL else outcome.status
    notes: list[str] = []
    if subject.computed is not None:
        verdict, notes = verdict_on(deviations, _excuses(compared, moves))
        notes += [*compared.notes, *_faults(replace(subject, explained=_shown(subject)), deviations)]
        notes += subject.measured.facts.notes
        unread = [f"{layer.name}: {layer.unread}" for layer in subject.computed.layers if layer.unread]
        notes += [f"layers that could not be read: {'; '.join(unread)}"] if unread else []
        # Of a program's line nobody expects training.
        trains = subject.computed.steps or events.folder(subject.measured.facts)
        notes += [] if trains else ["outputs and layers only: nothing is trained"]
    return Agreement(
        example=cell.example,
        backend=cell.backend,
        image_data_format=cell.image_data_format,
        device=cell.device,
        verdict=verdict,
        reason=outcome.reason,
        reference=reference,
        deviations=deviations,
        first=first,
        notes=tuple(notes),
    )


def _shown(subject: Subject) -> tuple[Explanation, ...]:
    """The declared differences that its model can show."""
    model = _model(subject)
    return tuple(one for one in subject.explained if can_show(one, model))


def _excuses(compared: _Compared, moves: Mapping[str, Mapping[str, float]]) -> list[Explanation]:
    """What may explain how far it is from the others."""
    backend = compared.subject.measured.cell.backend
    declared = [one for one in _shown(compared.subject) if not one.fault]
    return [*declared, *_rounding(compared.deviations, backend, moves)]


def _model(subject: Subject) -> WordsOfLayers:
    """Its layers, as far as they are known from what it computed; if nobody told their settings, any may be set."""
    computed, facts = subject.computed, subject.measured.facts
    steps = list(computed.steps.values()) if computed else []
    names = {layer.class_name for layer in computed.layers} if computed else set()
    names |= {layer.class_name for step in steps for layer in step.layers}
    words = facts.layer_words or {known.setting for known in subject.explained}
    optimizer = next((step.optimizer for step in steps if step.optimizer), "")
    return WordsOfLayers(words | {part for name in names for part in parts(name)}, optimizer)


def _is_faulty(subject: Subject) -> bool:
    """Whether its backend is known to compute something else of such a model: it is nobody's measure."""
    model, carried = _model(subject), subject.measured.facts.carried
    return any(
        explains(one, model, ("outputs",), "", trained=False, carried=carried, as_shipped=True)
        for one in subject.explained
        if one.fault
    )


def _faults(subject: Subject, deviations: Mapping[str, Deviation]) -> list[str]:
    beyond = [what for what, one in deviations.items() if not one.size <= TOLERANCES[what]]
    facts = subject.measured.facts
    return faults.reasons(deviations, subject.explained, beyond, facts.layer_words, facts.carried)


def _rounding(
    deviations: Mapping[str, Deviation], backend: str, moves: Mapping[str, Mapping[str, float]]
) -> list[Explanation]:
    """What rounding explains, by how far backends deviate from themselves.

    Of this one, the one that it is compared with, and the second of all: one unit in the last place may by chance
    change a training little, and a faulty backend may change by itself.
    """
    found = []
    for what in QUANTITIES:
        if (deviation := deviations.get(what)) is None:
            continue
        of_all = {name: own.get(what, 0.0) for name, own in moves.items()}
        second = sorted(of_all, key=lambda name: of_all[name])[-2:-1]
        asked = (backend, deviation.against, *second) if deviation.against else tuple(of_all)
        sizes = {name: of_all.get(name, 0.0) for name in asked}
        widest = max(sizes, key=lambda name: sizes[name])
        if math.isfinite(sizes[widest]):
            reason = (
                f"rounding, or updates in no fixed order: {widest} deviates by {sizes[widest]:.0e} ({what}) if its "
                "initial weights move by one unit in the last place."
            )
            found.append(Explanation(what=(what,), bound=ROUNDING * sizes[widest], reason=reason))
    return found


def verdict_on(deviations: Mapping[str, Deviation], explained: Sequence[Explanation]) -> tuple[str, list[str]]:
    """The verdict on these deviations, and the reasons of those that are explained."""
    if not deviations:
        return ALONE, []
    reasons = [_reasons(what, deviation, explained) for what, deviation in deviations.items()]
    found = [reason for several in reasons for reason in several or ()]
    verdict = DIFFERS if None in reasons else EXPLAINED if found else SAME
    return verdict, list(dict.fromkeys(found))


def _reasons(what: str, deviation: Deviation, explained: Sequence[Explanation]) -> list[str] | None:
    """What explains the deviation, [] if it is within the tolerance; None if nothing does."""
    if deviation.size <= TOLERANCES[what]:
        return []
    for one in explained:
        against, layer = deviation.against, deviation.class_name
        fits = concerns(one, (what,), against, layer, trained=False, carried=True, as_shipped=True)
        if not (fits and _is_within(one, deviation)):
            continue
        if not one.untrained:
            return [one.reason]
        if deviation.trained is not None:  # those that are trained have to agree, or an explanation of their own
            trained = replace(deviation.trained, against=deviation.against)
            others = _reasons(what, trained, [other for other in explained if not other.untrained])
            if others is not None:
                return [one.reason, *others]
    return None


def _is_within(known: Explanation, deviation: Deviation) -> bool:
    if deviation.of_weights is None:
        return deviation.size <= known.bound
    return deviation.size <= max(known.bound, known.bound_of_loss) and deviation.of_weights <= known.bound


def _standard(computed: Sequence[Computed], alone: bool) -> _Standard | None:
    """numpy's own result if the reference knows every layer of all; else the median of the backends.

    Each guest runs the reference on its own model. Their median is taken, so that a backend whose model has another
    setting, or other weights, stands out here too. For a native backend, whose layers kbench cannot read, it is the
    reference of the other backends' model.
    """
    layered = [one for one in computed if one.layers]
    if layered and all(one.reference_outputs is not None for one in layered):
        return _Standard(
            NUMPY,
            _middle([one.reference_outputs for one in layered if one.reference_outputs is not None]),
            _middle_number([one.reference_loss for one in layered]),
            _middle_layers(layered, lambda layer: layer.reference),
        )
    if not computed or alone:
        return None
    return _Standard(
        f"median of {len(computed)}" if len(computed) > 1 else ONLY,
        _middle([one.outputs for one in computed]),
        _middle_number([one.loss for one in computed]),
        _middle_layers(computed, lambda layer: layer.values),
    )


def _middle_layers(
    computed: Sequence[Computed], values: Callable[[LayerOutput], Array | None]
) -> dict[tuple[str, int], Array]:
    found: dict[tuple[str, int], list[Array]] = {}
    for one in computed:
        for key, layer in keyed(one.layers):
            value = values(layer)
            if value is not None:
                found.setdefault(key, []).append(value)
    return {key: _middle(arrays) for key, arrays in found.items()}


def keyed(layers: Sequence[LayerOutput]) -> list[tuple[tuple[str, int], LayerOutput]]:
    """Each layer with its class and its number within the class: backends name and order layers differently."""
    counts: Counter[str] = Counter()
    found = []
    for layer in layers:
        counts[layer.class_name] += 1
        found.append(((layer.class_name, counts[layer.class_name]), layer))
    return found


def _middle(arrays: Sequence[Array]) -> Array:
    """The median of each number over the arrays of the most common size."""
    sizes = [array.size for array in arrays]
    size = max(sizes, key=sizes.count)
    stacked = np.stack([array.reshape(-1) for array in arrays if array.size == size]).astype(np.float64)
    middle: Array = np.median(stacked, axis=0)
    return middle


def _middle_number(numbers: Sequence[float | None]) -> float | None:
    there = [number for number in numbers if number is not None]
    return float(np.median(there)) if there else None


def _forward(computed: Computed, standard: _Standard) -> tuple[dict[str, Deviation], Deviation | None]:
    """The deviations of outputs, layers and loss, and the first layer that differs."""
    last = computed.layers[-1] if computed.layers else None
    at = (last.name, last.class_name) if last else ("", "")
    of_layers = [
        Deviation(output_deviation(layer.values, standard.layers[key]), layer.name, layer.class_name)
        for key, layer in keyed(computed.layers)
        if layer.values is not None and key in standard.layers
    ]
    deviations = {}
    if computed.outputs.size:  # a model may have no outputs but only a training step
        deviations["outputs"] = Deviation(output_deviation(computed.outputs, standard.outputs), *at)
    first = next((one for one in of_layers if not one.size <= TOLERANCES["layers"]), None)
    if of_layers:
        # The layers behind the first one that differs are fed by it: it is the one to explain.
        deviations["layers"] = first or max(of_layers, key=lambda one: one.size)
    if (size := loss_deviation(computed.loss, standard.loss)) is not None:
        deviations["loss"] = Deviation(size, *at)
    return deviations, first


def _with_reported(
    deviations: Mapping[str, Deviation], own: float | None, middle: float | None
) -> dict[str, Deviation]:
    """With the larger of two deviations of the loss: of that computed from the outputs, and of the reported one."""
    size = loss_deviation(own, middle)
    known = deviations.get("loss", Deviation(0.0))
    if size is None or (size <= known.size and "loss" in deviations):
        return dict(deviations)
    return {**deviations, "loss": Deviation(size, "as reported by the backend", known.class_name)}


def _middle_step(computed: Sequence[Computed], number: int, scales: _Scales) -> ParityStep | None:
    """The model that is nearest to the majority after so many steps; of two, their mean; None of one.

    Not the median of each number: where backends deviate to both sides, no backend has that. And not the nearest to
    all: one that is far from all others would choose among them.
    """
    trained = [one.steps[number] for one in computed if number in one.steps]
    if len(trained) < 2:
        return None
    if len(trained) == 2 and form(trained[0]) == form(trained[1]):
        return _mean(*trained)

    def distances(step: ParityStep) -> tuple[float, float]:
        found = sorted(_deviation(other, step, scales).size for other in trained)
        return found[len(trained) // 2], sum(found)  # how far it has to reach for a majority, itself included

    return min(trained, key=distances)


def _mean(one: ParityStep, other: ParityStep) -> ParityStep:
    layers = [
        replace(
            layer,
            values=tuple(_middle([mine, theirs]) for mine, theirs in zip(layer.values, right.values, strict=True)),
        )
        for layer, right in zip(one.layers, other.layers, strict=True)
    ]
    return ParityStep(_middle_number([one.loss, other.loss]), tuple(layers), one.optimizer)


def passes(rows: Sequence[Agreement]) -> bool:
    """Whether all these rows, whose cells ended ok, are the same or explained."""
    return all(row.verdict in (SAME, EXPLAINED) for row in rows)
