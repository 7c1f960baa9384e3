"""Compares the fingerprints of cells, and says in words which ones did not do the same work."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import msgspec

from kbench.analysis import first_epochs, first_outputs, first_steps, flops, trainings
from kbench.axes import Point
from kbench.values import Measured


def _fact(name: str) -> Callable[[Measured], object]:
    return lambda one: one.facts.get(name)


def _as_json(name: str) -> Callable[[Measured], object]:
    return lambda one: None if not isinstance(text := one.facts.get(name), str) else msgspec.json.decode(text)


def _truth(name: str) -> Callable[[Measured], object]:
    return lambda one: None if (value := one.facts.get(name)) is None else bool(value)


def _weights(one: Measured) -> object:
    origin = one.facts.get("weights")
    return None if origin is None else [origin, one.facts.get("weights_sha256")]


# What must be equal, in the order of the messages; what a guest did not report is not compared.
_ASPECTS: Mapping[str, Callable[[Measured], object]] = {
    "model": _fact("layers"),
    "number of parameters": _fact("parameters"),
    "initial weights": _weights,
    "data": _fact("content_sha256"),
    "order of samples": _fact("order_sha256"),
    "batch size": _fact("batch_size"),
    "optimizer": _fact("optimizer"),
    "loss": _fact("loss"),
    "dtype": _fact("dtypes"),
    "metrics": _as_json("metrics"),
    "weights of classes": _as_json("class_weight"),
    "weights of losses": _as_json("loss_weights"),
    "augmentation": _as_json("augmentation"),
    "steps_per_execution": _fact("steps_per_execution"),
    "run_eagerly": _truth("run_eagerly"),
    "order of updates": _fact("order_of_updates"),
}
# Where a setting is this, as it was before guests reported it, it does not change the fingerprint's hash.
_USUAL: Mapping[str, Sequence[object]] = {
    "metrics": ([], ["accuracy"]),
    "weights of classes": ({},),
    "weights of losses": ({},),
    "steps_per_execution": (1,),
    "run_eagerly": (False,),
    "order of updates": ("in order",),
}
_OF_LAYERS = ("layers", "input_shapes", "layer_shapes")  # facts that only Keras reports of a model
_HASHED = ("initial weights", "data", "order of samples")  # a message can only say that they differ


def reported(one: Measured) -> dict[str, object]:
    """Everything that must be equal for rows to be compared, as far as the guest reported it."""
    return {name: value for name, aspect in _ASPECTS.items() if (value := aspect(one)) is not None}


def fingerprint(known: Mapping[str, object]) -> str:
    """A short hash of what a cell `reported`; empty where that is too little."""
    if not known.keys() & {"model", "number of parameters"}:
        return ""
    counted = {name: value for name, value in known.items() if value not in _USUAL.get(name, ())}
    return hashlib.sha256(json.dumps(counted, sort_keys=True).encode()).hexdigest()[:12]


def described(measured: Sequence[Measured]) -> list[Measured]:
    """The cells, in which a model without layers of Keras has those of the model that it was shown to be.

    That is the commonest model of its example and repeat that has the same weights and, from them, the same outputs.
    """
    models: dict[tuple[Point, int, bytes], list[Measured]] = {}
    for one in measured:
        if one.facts.get("layers") is not None and one.facts.get("probe") is not None:
            models.setdefault(_of_model(one), []).append(one)
    return [_as_described(one, models) for one in measured]


def _of_model(one: Measured) -> tuple[Point, int, bytes]:
    return one.cell.key.work, one.cell.repeat, _form(_weights(one))


def _as_described(one: Measured, models: Mapping[tuple[Point, int, bytes], Sequence[Measured]]) -> Measured:
    outputs = first_outputs.of(one)
    if one.facts.get("layers") is not None or outputs is None:
        return one
    alike = [
        other
        for other in models.get(_of_model(one), ())
        if (others := first_outputs.of(other)) is not None and first_outputs.same(outputs, others)
    ]
    if not alike:
        return one
    common = Counter(_form(other.facts["layers"]) for other in alike).most_common(1)[0][0]
    model = next(other for other in alike if _form(other.facts["layers"]) == common)
    told = {name: model.facts[name] for name in _OF_LAYERS if name in model.facts}
    return replace(one, facts={**one.facts, **told})


def differences(measured: Sequence[Measured]) -> dict[str, tuple[str, ...]]:
    """For each cell (by id) that differs from most of those that should do the same work: how; of two, the second."""
    found: dict[str, list[str]] = {}
    for group in _groups(measured):
        for name, aspect in _ASPECTS.items():
            for one, difference in _of_aspect(name, aspect, group):
                found.setdefault(one.cell.id, []).append(difference)
        for one, difference in _of_aspect("operations per sample", _operations, group):
            if one.cell.id not in found:  # another model has other operations too
                found[one.cell.id] = [difference]
        for one, difference in [*_own_weights(group), *_precision(group), *_outputs(group)]:
            found.setdefault(one.cell.id, []).append(difference)
        for one, difference, _ in _first_steps(group):
            if difference and one.cell.id not in found:  # other outputs have another step, too
                found[one.cell.id] = [difference]
        for one, difference in trainings.differences(group):
            found.setdefault(one.cell.id, []).append(difference)
        alike = [one for one in _computed_alike(group) if one.cell.id not in found]
        for one, difference in first_epochs.differences(alike):
            found[one.cell.id] = [difference]
    return {cell: tuple(difference) for cell, difference in found.items()}


def noted(measured: Sequence[Measured]) -> list[Measured]:
    """The cells with notes on what is declared of their first step, or why that was not checked."""
    found = {one.cell.id: first_steps.unchecked(one) for one in measured}
    for group in _groups(measured):
        for one, _, notes in _first_steps(group):
            found[one.cell.id] += notes
    return [_with_notes(one, found[one.cell.id]) if found[one.cell.id] else one for one in measured]


def _with_notes(one: Measured, notes: Sequence[str]) -> Measured:
    own = one.facts.get("notes")
    return replace(one, facts={**one.facts, "notes": [*(own if isinstance(own, list) else ()), *notes]})


def _groups(measured: Sequence[Measured]) -> list[list[Measured]]:
    """Those of a repeat that should do the same work, as far as they can be compared."""
    groups: dict[tuple[Point, int], list[Measured]] = {}
    for one in measured:
        if fingerprint(reported(one)):
            groups.setdefault((one.cell.key.work, one.cell.repeat), []).append(one)
    return list(groups.values())


def of_model(difference: str) -> bool:
    """Whether a difference is in the model's size, and not in a setting or in how it is trained."""
    return any(f" in its {name}" in difference for name in ("number of parameters", "dtype"))


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
        return json.dumps(value, sort_keys=True).encode()


def _of_aspect(
    name: str, aspect: Callable[[Measured], object], group: Sequence[Measured]
) -> list[tuple[Measured, str]]:
    reported = [(one, _form(value)) for one in group if (value := aspect(one)) is not None]
    if len({value for _, value in reported}) < 2:
        return []
    counted = Counter(value for _, value in reported)
    common = counted.most_common(1)[0][0]  # of equal counts, the first reported
    reference = next(one for one, value in reported if value == common)
    return [
        (one, f"unlike {reference.cell.backend} in its {name}{_how(name, aspect(one), aspect(reference))}")
        for one, value in reported
        if value != common
    ]


def _how(name: str, own: object, other: object) -> str:
    """What differs within an aspect, after a colon; empty where only hashes are known."""
    if name in _HASHED:
        return ""
    if name == "model" and isinstance(own, list) and isinstance(other, list):
        return f": {layers_differ(own, other)}"
    if isinstance(own, dict) and isinstance(other, dict):
        return f": {_settings(own, other)}"
    return f": {_value(own)} instead of {_value(other)}"


def layers_differ(own: Sequence[object], other: Sequence[object]) -> str:
    """The first layer that differs."""
    for number, (mine, theirs) in enumerate(zip(own, other, strict=False), 1):
        if mine == theirs:
            continue
        if not (isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs) == 3):
            break
        if mine[0] != theirs[0]:
            return f"layer {number} is {mine[0]} instead of {theirs[0]}"
        if mine[1] != theirs[1]:
            return f"layer {number}, {mine[0]}, has {_settings(mine[1], theirs[1])}"
        return f"layer {number}, {mine[0]}, has weights of shapes {mine[2]} instead of {theirs[2]}"
    return f"{len(own)} layers instead of {len(other)}"


def _settings(own: Mapping[str, object], other: Mapping[str, object]) -> str:
    names = sorted(name for name in own.keys() | other.keys() if own.get(name) != other.get(name))
    return ", ".join(f"{name} {_value(own.get(name))} instead of {_value(other.get(name))}" for name in names)


def _value(value: object) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)


def _operations(one: Measured) -> object:
    """Of a forward pass; None if a layer is unknown. Not in the fingerprint, since it follows from the model."""
    layers = flops.read(one.facts.get("layer_shapes"))
    counted = flops.count(layers) if layers else None
    return None if counted is None or counted.unknown else counted.forward


def _own_weights(group: Sequence[Measured]) -> list[tuple[Measured, str]]:
    """Cells with weights for which the guest knew no initializer, so that they are the backend's own."""
    return [
        (one, f"its initial weights are its own in {', '.join(map(str, names))}")
        for one in group
        if isinstance(names := one.facts.get("weights_left"), list) and names
    ]


def _precision(group: Sequence[Measured]) -> list[tuple[Measured, str]]:
    """Cells that compute in another precision than the others, although nobody asked for it."""
    own = [one for one in group if not one.facts.get("policy")]
    return _of_aspect("precision", lambda one: one.facts.get("computes_in") or [_floatx(one)], own)


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
    agreeing = [(sum(not how for how, _ in row), -sum(len(known) for _, known in row)) for row in compared]
    if not cells:
        return []
    place = agreeing.index(max(agreeing))
    reference = cells[place].cell.backend
    return [
        (
            one,
            f"unlike {reference} in {how}" if how else "",
            tuple(f"its first step differs from that of {reference}, as is known: {reason}" for reason in known),
        )
        for one, (how, known) in zip(cells, (row[place] for row in compared), strict=True)
        if how or known
    ]


def _computed_alike(group: Sequence[Measured]) -> list[Measured]:
    """The cells with the common weights that compute in the precision in which numbers are compared."""
    return [one for one in group if one.facts.get("weights") != "backend" and _full_precision(one)]


def _full_precision(one: Measured) -> bool:
    found = one.facts.get("computes_in")
    return not isinstance(found, list) or set(found) <= {_floatx(one)}


def _floatx(one: Measured) -> object:
    return one.facts.get("floatx", "float32")
