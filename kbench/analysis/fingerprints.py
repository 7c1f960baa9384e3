"""Compares the fingerprints of cells, and says in words which ones did not do the same work."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import msgspec

from kbench.analysis import epoch_losses, first_outputs, first_steps, flops, last_steps, trainings
from kbench.axes import ARGUMENTS, Point
from kbench.reported import Described, Facts
from kbench.values import Measured


def _as_json(text: str | None) -> object:
    return None if text is None else msgspec.json.decode(text)


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
_OF_SAMPLES = ("number of different samples", "samples", "sample weights", "order of samples")  # the first is told
_HASHED = ("initial weights", "data", *_OF_SAMPLES[1:])  # a message can only say that they differ

_TRAINING = ("data", *_OF_SAMPLES, "number of samples", "batch size", "loss", "weights of classes")

# Of a program's fit: counts are found, not asked for.
_OF_FITS: Mapping[str, Callable[[Facts], object]] = {
    "number of samples": lambda facts: facts.samples,
    "number of validation samples": lambda facts: facts.validation_samples,
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


def described(measured: Sequence[Measured]) -> list[Measured]:
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
    common = Counter(_form(other.facts.layers) for other in alike).most_common(1)[0][0]
    model = next(other.facts for other in alike if _form(other.facts.layers) == common)
    shapes = {"input_shapes": model.input_shapes, "layer_shapes": model.layer_shapes}
    return replace(one, facts=msgspec.structs.replace(one.facts, layers=model.layers, **shapes))


def differences(measured: Sequence[Measured]) -> dict[str, tuple[str, ...]]:
    """For each cell (by id) that differs from most of those that should do the same work: how; of two, the second."""
    return compared(measured)[0]


def noted(measured: Sequence[Measured]) -> list[Measured]:
    """The cells with notes on what is declared of their first step and later epochs, or why that was not checked."""
    return compared(measured)[1]


def compared(measured: Sequence[Measured]) -> tuple[dict[str, tuple[str, ...]], list[Measured]]:
    """(differences, noted), of one comparison."""
    found: dict[str, list[str]] = {}
    notes = {one.cell.id: first_steps.unchecked(one) for one in measured}
    for group in _groups(measured):
        others = set[str]()  # cells that train on other samples: in whatever order
        for name, aspect in {**_ASPECTS, **_OF_FITS}.items():
            for one, difference in _of_aspect(name, aspect, group):
                if name in _OF_SAMPLES and one.cell.id in others:
                    continue
                others.update([one.cell.id] if name in _OF_SAMPLES else [])
                found.setdefault(one.cell.id, []).append(difference)
        for one, difference in _of_aspect("operations per sample", _operations, group):
            if one.cell.id not in found:  # another model has other operations too
                found[one.cell.id] = [difference]
        same_batch = [one for one in group if one.cell.id not in others or one.facts.samples_sha256 is None]
        for one, difference in [*_own_weights(group), *_precision(group), *_outputs(same_batch)]:
            found.setdefault(one.cell.id, []).append(difference)
        for one, difference, known in _first_steps(group):
            notes[one.cell.id] += known
            if difference and one.cell.id not in found:  # other outputs have another step, too
                found[one.cell.id] = [difference]
        for one, difference in trainings.differences(group, others):
            found.setdefault(one.cell.id, []).append(difference)
        for one, difference in last_steps.differences(group):
            found.setdefault(one.cell.id, [difference])
        for one, note in trainings.waiting(group):
            notes[one.cell.id] += (note,)
        comparable = _computed_alike(group)
        losses = epoch_losses.differences(comparable)
        for one, _, reason in losses:
            notes[one.cell.id] += (reason,) if reason else ()
        alike = [one for one in comparable if one.cell.id not in found]
        for one, difference, _ in losses if len(alike) == len(comparable) else epoch_losses.differences(alike):
            if difference:
                found[one.cell.id] = [difference]
    return {cell: tuple(how) for cell, how in found.items()}, [
        _with_notes(one, notes[one.cell.id]) for one in measured
    ]


def changed_by_arguments(measured: Sequence[Measured]) -> list[Measured]:
    """The cells of a program with further arguments, with notes on how they differ from those without."""
    plain = {(one.cell.key, one.cell.repeat): one for one in measured}
    found = []
    for one in measured:
        beside = plain.get((one.cell.key.without([ARGUMENTS]), one.cell.repeat), one)
        how = [] if beside is one else unlike(reported(one), reported(beside))
        found.append(_with_notes(one, [f"its arguments give it {how}" for how in how]))
    return found


def _with_notes(one: Measured, notes: Sequence[str]) -> Measured:
    return replace(one, facts=msgspec.structs.replace(one.facts, notes=(*one.facts.notes, *notes))) if notes else one


def _groups(measured: Sequence[Measured]) -> list[list[Measured]]:
    """Those of a repeat that should do the same work, as far as they can be compared."""
    groups: dict[tuple[Point, int], list[Measured]] = {}
    for one in measured:
        if fingerprint(reported(one)):
            groups.setdefault((one.cell.key.work, one.cell.repeat), []).append(one)
    return list(groups.values())


def of_size(difference: str) -> bool:
    """Whether a difference is in how much work is done, and not in a setting or in how the model is trained."""
    return any(f" in its {name}" in difference for name in ("number of parameters", "number of samples", "dtype"))


def of_training(difference: str) -> bool:
    """Whether a difference is in what a program trains on or how, so that its scores cannot be the same."""
    if " in its optimizer: " in difference:
        return any(name in difference for name in ("learning_rate ", "class_name "))
    return any(f" in its {name}" in difference for name in _TRAINING)


def each_once(differences: Iterable[str]) -> tuple[str, ...]:
    """Without those that differ only in the backend that they name, as repeats may."""
    found: dict[str, str] = {}
    for how in differences:
        found.setdefault(how.partition(" in ")[2] or how, how)
    return tuple(found.values())


def ends_of_sentences(unlike: Sequence[str]) -> tuple[str, ...]:
    """How a program's line trains otherwise: another network, which is not compared, before all else."""
    sizes = [how for how in unlike if of_size(how)]
    networks = [*(how for how in unlike if " in its model: " in how), *sizes]
    first = [f"is {networks[0]}, so it is not compared"] if sizes else []
    return (*first, *(f"is {how}" for how in unlike if how not in sizes and of_training(how)))


def unlike(one: Mapping[str, object], other: Mapping[str, object]) -> list[str]:
    """How two cells of different runs or backends differ in what both `reported`."""
    return [
        f"another {name}{_how(name, one[name], other[name])}"
        for name in _ASPECTS
        if name in one and name in other and _form(one[name]) != _form(other[name])
    ]


def _form(value: object) -> bytes:
    """Equal for equal JSON values; unlike ==, 1 differs from 1.0, and NaN equals itself."""
    try:
        return msgspec.msgpack.encode(value, order="deterministic")
    except (OverflowError, UnicodeEncodeError):  # numbers and text that only JSON can hold
        return _json(value).encode()


def _json(value: object) -> str:
    return json.dumps(msgspec.to_builtins(value), sort_keys=True)


def _of_aspect(name: str, aspect: Callable[[Facts], object], group: Sequence[Measured]) -> list[tuple[Measured, str]]:
    reported = [(one, _form(value)) for one in group if (value := aspect(one.facts)) is not None]
    if len({value for _, value in reported}) < 2:
        return []
    counted = Counter(value for _, value in reported)
    common = counted.most_common(1)[0][0]  # of equal counts, the first reported
    reference = next(one for one, value in reported if value == common)
    found = []
    for one, value in reported:
        if value != common:
            how = _how(name, aspect(one.facts), aspect(reference.facts))
            how += _other_axis(how, one.facts, reference.facts) if name == "model" else ""
            found.append((one, f"unlike {reference.cell.backend} in its {name}{how}"))
    return found


def _other_axis(how: str, own: Facts, other: Facts) -> str:
    """What to do where a layer takes another axis for that of channels, because images have another layout."""
    if " axis " not in how or own.image_data_format == other.image_data_format:
        return ""
    stated = "axis=1 where keras.backend.image_data_format() is channels_first"
    return f" (give it {stated}, or run with --image-data-format channels_last)"


def _how(name: str, own: object, other: object) -> str:
    """What differs within an aspect, after a colon; empty where only hashes are known."""
    if name in _HASHED:
        return ""
    if isinstance(own, tuple) and isinstance(other, tuple) and name == "model":
        return f": {layers_differ(own, other)}"
    if isinstance(own, dict) and isinstance(other, dict):
        return f": {_settings(own, other)}"
    return f": {_value(own)} instead of {_value(other)}"


def layers_differ(own: Sequence[Described], other: Sequence[Described]) -> str:
    """The first layer that differs."""
    for number, (mine, theirs) in enumerate(zip(own, other, strict=False), 1):
        if mine == theirs:
            continue
        if mine.class_name != theirs.class_name:
            return f"layer {number} is {mine.class_name} instead of {theirs.class_name}"
        if mine.settings != theirs.settings:
            return f"layer {number}, {mine.class_name}, has {_settings(mine.settings, theirs.settings)}"
        return f"layer {number}, {mine.class_name}, has weights of shapes {mine.weights} instead of {theirs.weights}"
    return f"{len(own)} layers instead of {len(other)}"


def _settings(own: Mapping[str, object], other: Mapping[str, object]) -> str:
    names = sorted(name for name in own.keys() | other.keys() if own.get(name) != other.get(name))
    pairs = ((name, own.get(name), other.get(name)) for name in names)
    return ", ".join(
        f"{name} {_set_to(value, beside)} instead of {_set_to(beside, value)}" for name, value, beside in pairs
    )


def _set_to(value: object, beside: object) -> str:
    """A setting as people write it: a truth value that is not reported is the other one."""
    return _value(not beside if value is None and isinstance(beside, bool) else value)


def _value(value: object) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)


def _operations(facts: Facts) -> object:
    """Of a forward pass; None if a layer is unknown. Not in the fingerprint, since it follows from the model."""
    counted = flops.count(facts.layer_shapes) if facts.layer_shapes else None
    return None if counted is None or counted.unknown else counted.forward


def _own_weights(group: Sequence[Measured]) -> list[tuple[Measured, str]]:
    """Cells with weights for which the guest knew no initializer, so that they are the backend's own."""
    return [
        (one, f"its initial weights are its own in {', '.join(names)}: {_drawn_alike(names[0])}")
        for one in group
        if (names := one.facts.weights_left)
    ]


def _drawn_alike(name: str) -> str:
    """How kbench can draw the weight of this name, such as `scale/s`: by the attribute that holds its initializer."""
    weight = name.rpartition("/")[2]
    attribute = f"{weight}_initializer" if weight.isidentifier() else "<name of the weight>_initializer"
    return f"kbench draws a weight alike for all rows if its layer has an initializer of Keras as self.{attribute}"


def _precision(group: Sequence[Measured]) -> list[tuple[Measured, str]]:
    """Cells that compute in another precision than the others, although nobody asked for it."""
    own = [one for one in group if not one.facts.policy]
    return _of_aspect("precision", lambda facts: facts.computes_in or (facts.floatx,), own)


def _outputs(group: Sequence[Measured]) -> list[tuple[Measured, str]]:
    """Cells whose outputs before training differ from the others', with the same weights."""
    probes = [(one, outputs) for one in _computed_alike(group) if (outputs := first_outputs.of(one)) is not None]
    if len(probes) < 2:
        return []
    agreeing = [sum(first_outputs.same(one, other) for _, other in probes) for _, one in probes]
    reference, expected = probes[agreeing.index(max(agreeing))]
    return [
        (
            one,
            f"unlike {reference.cell.backend} in its outputs before training: {first_outputs.by(outputs, expected)}",
        )
        for one, outputs in probes
        if not first_outputs.same(outputs, expected)
    ]


def _first_steps(group: Sequence[Measured]) -> list[tuple[Measured, str, tuple[str, ...]]]:
    """(cell, how its first step differs from that of most, notes on what is declared), where either is not empty."""
    cells = _computed_alike(group)
    compared = [[first_steps.compare(one, other) for other in cells] for one in cells]
    faults = [first_steps.declared_reasons(one) for one in cells]
    # Those that have a declared fault in common agree in it, which says nothing for it.
    agreeing = [
        (
            sum(not how and (one is other or not faults[place] & faults[number])
                for number, (other, (how, _)) in enumerate(zip(cells, row, strict=True))),
            -len(faults[place]),
            -sum(len(known) for _, known in row),
        )
        for place, (one, row) in enumerate(zip(cells, compared, strict=True))
    ]  # fmt: skip
    if not cells:
        return []
    place = agreeing.index(max(agreeing))
    reference = cells[place].cell.backend
    return [
        (
            one,
            f"unlike {reference} in {how}{_nearer(how, one, cells[place])}" if how else "",
            tuple(f"its first step differs from that of {reference}, as is known: {reason}" for reason in known),
        )
        for one, (how, known) in zip(cells, (row[place] for row in compared), strict=True)
        if how or known
    ]


def _nearer(how: str, one: Measured, other: Measured) -> str:
    """Where the cause of another loss is, as far as the outputs show; empty of other differences."""
    own, expected = first_outputs.of(one), first_outputs.of(other)
    if not how.startswith(first_steps.OF_LOSS) or own is None or expected is None:
        return ""
    reason = first_steps.reason_of_larger_loss(one, other)
    known = f". A known difference may be why: {reason.rstrip('.')}" if reason else ""
    return f"; outputs agree, so the cause is the loss or a layer's training mode{known}"


def _computed_alike(group: Sequence[Measured]) -> list[Measured]:
    """The cells with the common weights that compute in the precision in which numbers are compared."""
    return [one for one in group if one.facts.weights != "backend" and _full_precision(one)]


def _full_precision(one: Measured) -> bool:
    return one.facts.computes_in is None or {*one.facts.computes_in} <= {one.facts.floatx}
