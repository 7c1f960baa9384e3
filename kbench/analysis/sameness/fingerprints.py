"""Compares the fingerprints of cells, and finds out which ones did not do the same work."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import msgspec

from kbench import hooks
from kbench.analysis.sameness import (
    epoch_losses,
    first_outputs,
    first_steps,
    last_steps,
    movements,
    trainings,
)
from kbench.analysis.sameness.declared import may_be_why
from kbench.analysis.sameness.usual import majority
from kbench.analysis.times import flops
from kbench.records.axes import ARGUMENTS, Point
from kbench.records.findings import OF_SAMPLES, Finding, Kind
from kbench.records.reported import Described, Facts
from kbench.records.values import Measured


def _as_json(text: str | None) -> object:
    try:
        return None if text is None else msgspec.json.decode(text)
    except msgspec.DecodeError:  # of a damaged file: then it is compared as it is
        return text


def _weights(facts: Facts) -> object:
    return [facts.weights, facts.weights_sha256] if facts.weights else None


# What must be equal, in the order of the messages; what a guest did not report is not compared.
_ASPECTS: Mapping[str, Callable[[Facts], object]] = {
    "model": lambda facts: facts.layers,
    "number of parameters": lambda facts: facts.parameters,
    "initial weights": _weights,
    "data": lambda facts: facts.content_sha256,
    "number of different samples": lambda facts: facts.different_samples,
    "samples": lambda facts: facts.samples_sha256,
    "sample weights": lambda facts: facts.sample_weights,
    "order of samples": lambda facts: facts.order_sha256,
    "batch size": lambda facts: facts.batch_size,
    "optimizer": lambda facts: facts.optimizer,
    "loss": lambda facts: facts.loss,
    "dtype": lambda facts: facts.dtypes,
    "metrics": lambda facts: _as_json(facts.metrics),
    "weights of classes": lambda facts: _as_json(facts.class_weight),
    "weights of losses": lambda facts: _as_json(facts.loss_weights),
    "augmentation": lambda facts: _as_json(facts.augmentation),
    "steps_per_execution": lambda facts: facts.steps_per_execution,
    "run_eagerly": lambda facts: None if facts.run_eagerly is None else bool(facts.run_eagerly),
    "order of updates": lambda facts: facts.order_of_updates,
}
# Where a setting is this, as it was before guests reported it, it does not change the fingerprint's hash.
_USUAL: Mapping[str, Sequence[object]] = {
    "sample weights": ("none",),
    "metrics": ([], ["accuracy"]),
    "weights of classes": ({},),
    "weights of losses": ({},),
    "steps_per_execution": (1,),
    "run_eagerly": (False,),
    "order of updates": ("in order",),
}
# Of a fit that is observed: counts are found, not asked for.
_OF_FITS: Mapping[str, Callable[[Facts], object]] = {
    "number of samples": lambda facts: facts.samples,
    "number of validation samples": lambda facts: facts.validation_samples,
    "validation data": lambda facts: facts.validation_sha256,
}


def reported(one: Measured) -> dict[str, object]:
    """Everything that must be equal for rows to be compared, as far as the guest reported it."""
    return {name: value for name, aspect in _ASPECTS.items() if (value := aspect(one.facts)) is not None}


def fingerprint(known: Mapping[str, object]) -> str:
    """A short hash of what a cell `reported`; empty where that is too little."""
    if not known.keys() & {"model", "number of parameters"}:
        return ""
    counted = {name: value for name, value in known.items() if value not in _USUAL.get(name, ())}
    return hashlib.sha256(_json(counted).encode()).hexdigest()[:12]


def fill_in_layers(measured: Sequence[Measured]) -> list[Measured]:
    """The cells, in which a model without layers of Keras has those of the model that it was shown to be.

    That is the commonest model of its example and repeat that has the same weights and, from them, the same outputs.
    """
    models: dict[tuple[Point, int, bytes], list[Measured]] = {}
    for one in measured:
        if one.facts.layers is not None and one.facts.probe is not None:
            models.setdefault(_of_size(one), []).append(one)
    return [_as_described(one, models) for one in measured]


def _of_size(one: Measured) -> tuple[Point, int, bytes]:
    return one.cell.key.work, one.cell.repeat, _form(_weights(one.facts))


def _as_described(one: Measured, models: Mapping[tuple[Point, int, bytes], Sequence[Measured]]) -> Measured:
    outputs = first_outputs.of(one)
    if one.facts.layers is not None or outputs is None:
        return one
    alike = [
        other
        for other in models.get(_of_size(one), ())
        if (others := first_outputs.of(other)) is not None and first_outputs.same(outputs, others)
    ]
    if not alike:
        return one
    forms = [(other.facts, _form(other.facts.layers)) for other in alike]
    model, _ = majority(forms, lambda one, other: one[1] == other[1])
    shapes = {"input_shapes": model.input_shapes, "layer_shapes": model.layer_shapes}
    return replace(one, facts=msgspec.structs.replace(one.facts, layers=model.layers, **shapes))


def differences(measured: Sequence[Measured]) -> dict[str, tuple[Finding, ...]]:
    """For each cell (by id) that differs from most of those that should do the same work: how; of two, the second."""
    return compared(measured)[0]


def add_notes(measured: Sequence[Measured]) -> list[Measured]:
    """The cells with what is declared of their first step and later epochs, or why that was not checked."""
    return compared(measured)[1]


def compared(measured: Sequence[Measured]) -> tuple[dict[str, tuple[Finding, ...]], list[Measured]]:
    """(differences, noted), of one comparison."""
    found: dict[str, list[Finding]] = {}
    notes = {one.cell.id: first_steps.unchecked(one) for one in measured}
    for group in groups(measured):
        others = _unlike_before_training(group, found)
        steps = _first_steps(group)
        for one, difference in steps:
            if difference.differs and one.cell.id not in found:  # other outputs have another step, too
                found[one.cell.id] = [difference]
        for one, difference in trainings.differences(group, others):
            found.setdefault(one.cell.id, []).append(difference)
        comparable = computed_alike(group)
        for one, difference in (*last_steps.differences(group), *movements.differences(comparable)):
            if difference.differs:
                found.setdefault(one.cell.id, [difference])
        losses = _of_epochs(comparable)
        for one, note in (*steps, *trainings.waiting(group), *losses):
            notes[one.cell.id] += () if note.differs else (note,)
        alike = [one for one in comparable if one.cell.id not in found]
        for one, difference in losses if len(alike) == len(comparable) else _of_epochs(alike):
            if difference.differs:
                found[one.cell.id] = [difference]
    for check in hooks.work_checks():
        for one, difference in check.differences(measured):
            found.setdefault(one.cell.id, []).append(difference)
    return {cell: tuple(how) for cell, how in found.items()}, [_with(one, notes[one.cell.id]) for one in measured]


def _of_epochs(cells: Sequence[Measured]) -> list[tuple[Measured, Finding]]:
    found = epoch_losses.differences(cells)
    for check in hooks.work_checks():
        found = [(one, check.explained(one, how)) for one, how in found]
    return found


def _unlike_before_training(group: Sequence[Measured], found: dict[str, list[Finding]]) -> set[str]:
    """Add to `found` how cells differ in what they report and return before training.

    Returns those that train on other samples, in whatever order.
    """
    others = set[str]()
    for name, aspect in {**_ASPECTS, **_OF_FITS}.items():
        for one, difference in _of_aspect(name, aspect, group):
            if name in OF_SAMPLES and one.cell.id in others:
                continue
            others.update([one.cell.id] if name in OF_SAMPLES else [])
            found.setdefault(one.cell.id, []).append(difference)
    for one, difference in _of_aspect("operations per sample", _operations, group):
        if one.cell.id not in found:  # another model has other operations too
            found[one.cell.id] = [difference]
    same_batch = [one for one in group if one.cell.id not in others or one.facts.samples_sha256 is None]
    for one, difference in [*_own_weights(group), *_precision(group), *_outputs(same_batch)]:
        found.setdefault(one.cell.id, []).append(difference)
    return others


def changed_by_arguments(measured: Sequence[Measured]) -> list[Measured]:
    """The cells of a program with further arguments, with how they differ from those without."""
    plain = {(one.cell.key, one.cell.repeat): one for one in measured}
    found = []
    for one in measured:
        beside = plain.get((one.cell.key.without([ARGUMENTS]), one.cell.repeat), one)
        how = [] if beside is one else list_differences(reported(one), reported(beside))
        found.append(_with(one, [replace(each, kind="arguments") for each in how]))
    return found


def _with(one: Measured, found: Sequence[Finding]) -> Measured:
    return replace(one, findings=(*one.findings, *found)) if found else one


def groups(measured: Sequence[Measured]) -> list[list[Measured]]:
    """Those of a repeat that should do the same work, as far as they can be compared."""
    found: dict[tuple[Point, int], list[Measured]] = {}
    for one in measured:
        if fingerprint(reported(one)):
            found.setdefault((one.cell.key.work, one.cell.repeat), []).append(one)
    return list(found.values())


def list_differences(one: Mapping[str, object], other: Mapping[str, object]) -> list[Finding]:
    """How two cells of different runs differ in what both `reported`."""
    return [
        _finding("run", name, one[name], other[name])
        for name in _ASPECTS
        if name in one and name in other and _form(one[name]) != _form(other[name])
    ]


def _finding(kind: Kind, name: str, own: object, other: object) -> Finding:
    """Of models the first layer that differs, or else how many they have."""
    about: dict[str, object] = {}
    if isinstance(own, tuple) and isinstance(other, tuple) and name == "model":
        own, other, about["layer"] = first_layer(own, other)
    return Finding(kind=kind, aspect=name, own=own, other=other, about=about)


def first_layer(own: Sequence[Described], other: Sequence[Described]) -> tuple[object, object, int]:
    """The first layer that differs, as JSON, and its number; else how many there are, and 0."""
    for number, pair in enumerate(zip(own, other, strict=False), 1):
        if pair[0] != pair[1]:
            mine, theirs = (
                {"class": one.class_name, "settings": one.settings, "weights": one.weights} for one in pair
            )
            return mine, theirs, number
    return len(own), len(other), 0


def _form(value: object) -> bytes:
    """Equal for equal JSON values; unlike ==, 1 differs from 1.0, and NaN equals itself."""
    try:
        return msgspec.msgpack.encode(value, order="deterministic")
    except (OverflowError, UnicodeEncodeError):  # numbers and text that only JSON can hold
        return _json(value).encode()


def _json(value: object) -> str:
    return json.dumps(msgspec.to_builtins(value), sort_keys=True)


def _of_aspect(
    name: str, aspect: Callable[[Facts], object], group: Sequence[Measured]
) -> list[tuple[Measured, Finding]]:
    reported = [(one, _form(value)) for one in group if (value := aspect(one.facts)) is not None]
    if len({value for _, value in reported}) < 2:
        return []
    reference, common = majority(reported, lambda one, other: one[1] == other[1])
    other = aspect(reference.facts)
    found = []
    for one, value in reported:
        if value != common:
            how = replace(_finding("aspect", name, aspect(one.facts), other), reference=reference.cell.backend)
            found.append((one, _other_axis(how, one.facts, reference.facts) if name == "model" else how))
    return found


def _other_axis(found: Finding, own: Facts, other: Facts) -> Finding:
    """Says so where a layer takes another axis for that of channels, because images have another layout."""
    if not found.about["layer"] or own.image_data_format == other.image_data_format:
        return found
    axes = [layer["settings"].get("axis") for layer in (found.own, found.other)]
    return replace(found, about={**found.about, "axis": axes}) if axes[0] != axes[1] else found


def _operations(facts: Facts) -> object:
    """Of a forward pass; None if a layer is unknown. Not in the fingerprint, since it follows from the model."""
    counted = flops.count(facts.layer_shapes) if facts.layer_shapes else None
    return None if counted is None or counted.unknown else counted.forward


def _own_weights(group: Sequence[Measured]) -> list[tuple[Measured, Finding]]:
    """Cells with weights for which the guest knew no initializer, so that they are the backend's own."""
    return [(one, Finding(kind="own weights", own=one.facts.weights_left)) for one in group if one.facts.weights_left]


def _precision(group: Sequence[Measured]) -> list[tuple[Measured, Finding]]:
    """Cells that compute in another precision than the others, although nobody asked for it."""
    own = [one for one in group if not one.facts.policy]
    return _of_aspect("precision", lambda facts: facts.computes_in or (facts.floatx,), own)


def _outputs(group: Sequence[Measured]) -> list[tuple[Measured, Finding]]:
    """Cells whose outputs before training differ from the others', with the same weights."""
    probes = [(one, outputs) for one in computed_alike(group) if (outputs := first_outputs.of(one)) is not None]
    if len(probes) < 2:
        return []
    reference, expected = majority(probes, lambda one, other: first_outputs.same(other[1], one[1]))
    return [
        (
            one,
            replace(first_outputs.finding(outputs, expected), reference=reference.cell.backend).perhaps(
                may_be_why(one, reference, ("outputs",))
            ),
        )
        for one, outputs in probes
        if not first_outputs.same(outputs, expected)
    ]


def _first_steps(group: Sequence[Measured]) -> list[tuple[Measured, Finding]]:
    """How first steps differ from that of most; what is declared of that."""
    cells = computed_alike(group)
    compared = [[first_steps.compare(one, other) for other in cells] for one in cells]
    faults = [first_steps.declared_reasons(one) for one in cells]

    def agree(place: int, number: int) -> bool:
        """Those that have a declared fault in common agree in it, which says nothing for it."""
        return compared[place][number][0] is None and (place == number or not faults[place] & faults[number])

    def known(place: int) -> tuple[int, int]:
        return len(faults[place]), sum(len(reasons) for _, reasons in compared[place])

    if not cells:
        return []
    place = majority(range(len(cells)), agree, known)
    reference = cells[place]
    found = []
    for one, (how, reasons) in zip(cells, (row[place] for row in compared), strict=True):
        several = [Finding(kind="first step", explanation=reason) for reason in reasons]
        several += [] if how is None else [_nearer(how, one, reference)]
        found += [(one, replace(each, reference=reference.cell.backend)) for each in several]
    return found


def _nearer(how: Finding, one: Measured, other: Measured) -> Finding:
    """With where the cause is, as far as the outputs and the backends' files tell."""
    if how.aspect != "loss":
        return how.perhaps(may_be_why(one, other, ("1 step",), how.about.get("layer")))
    if first_outputs.of(one) is None or first_outputs.of(other) is None:
        return how
    alike = replace(how, about={**how.about, "outputs agree": True})
    return alike.perhaps(first_steps.reason_of_larger_loss(one, other))


def computed_alike(group: Sequence[Measured]) -> list[Measured]:
    """The cells with the common weights that compute in the precision in which numbers are compared."""
    return [one for one in group if one.facts.weights != "backend" and _full_precision(one)]


def _full_precision(one: Measured) -> bool:
    return one.facts.computes_in is None or {*one.facts.computes_in} <= {one.facts.floatx}
