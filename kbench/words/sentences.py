"""Makes words of findings: the only place that does. No code asks a sentence what it is."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from kbench import hooks
from kbench.records import workloads
from kbench.records.findings import OF_SAMPLES, Finding
from kbench.words import step_sentences
from kbench.words.text import significant

_HASHED = ("initial weights", "data", "validation data", *OF_SAMPLES[1:])  # a sentence can only say that they differ


def sentence(found: Finding) -> str:
    """It in words, as a note has them: without a capital, and mostly without a full stop."""
    perhaps = found.about.get("perhaps")
    words = KINDS.get(found.kind) or hooks.finding_kinds()[found.kind].sentence
    return words(found) + (f". A known difference may be why: {perhaps.rstrip('.')}" if perhaps else "")


def all_of(several: Iterable[Finding]) -> tuple[str, ...]:
    """Each sentence once; of a difference also if only the reference is another, as in repeats."""
    words: dict[str, str] = {}
    for one in several:
        text = sentence(one)
        words.setdefault(sentence(replace(one, reference="")) if one.differs else text, text)
    return tuple(words.values())


def layers(own: Any, other: Any, number: int) -> str:
    """How a layer differs, or if it has no number how many there are. own, other: as in a finding."""
    if not number:
        return f"{own} layers instead of {other}"
    if own["class"] != other["class"]:
        return f"layer {number} is {own['class']} instead of {other['class']}"
    if own["settings"] != other["settings"]:
        return f"layer {number}, {own['class']}, has {_settings(own['settings'], other['settings'])}"
    return f"layer {number}, {own['class']}, has weights of shapes {own['weights']} instead of {other['weights']}"


def _aspect(found: Finding) -> str:
    return f"unlike {found.reference} in its {found.aspect}{_how(found)}"


def _how(found: Finding) -> str:
    """What differs within an aspect, after a colon; empty where only hashes are known."""
    own, other = found.own, found.other
    if found.aspect in _HASHED:
        return ""
    if found.aspect == "model":
        what_to_do = (
            " (give it axis=1 where keras.backend.image_data_format() is channels_first, or run with "
            "--image-data-format channels_last)"
        )
        return f": {layers(own, other, found.about.get('layer', 0))}{what_to_do if 'axis' in found.about else ''}"
    if isinstance(own, dict) and isinstance(other, dict):
        return f": {_settings(own, other)}"
    return f": {_value(own)} instead of {_value(other)}"


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


def _own_weights(found: Finding) -> str:
    return (
        f"its initial weights are its own in {', '.join(found.own)}: kbench draws those alike for all rows that have "
        "an initializer of Keras, given to add_weight"
    )


def outputs_apart(found: Finding) -> str:
    """By how much outputs differ."""
    if found.own is None:
        return "of another shape" if found.aspect == "shape" else "not numbers"
    about = found.about
    which = f"output {about['output']} is " if "output" in about else ""
    of = " of the largest number" if about["relative"] else ""
    return f"{which}off by up to {found.own:.2g}{of} ({about['allowed']:g} is allowed)"


def _outputs(found: Finding) -> str:
    return f"unlike {found.reference} in its outputs before training: {outputs_apart(found)}"


def _received(found: Finding) -> str:
    unlike, epoch = f"unlike {found.reference}", f"epoch {found.about['epoch']}"
    own, other = found.own, found.other
    match found.aspect:
        case "samples":
            did = "run" if found.about["task"] == "infer" else "trained"
            return f"{unlike} in the number of samples: {did} on {own:,} in {epoch} instead of {other:,}"
        case "steps":
            return f"{unlike} in the number of steps: {own:,} in {epoch} instead of {other:,}"
        case "sha256":
            return f"{unlike} in the data that its training received in {epoch}"
        case "validation_sha256":
            return f"{unlike} in the data that its validation received in {epoch}"
        case "updates":
            return f"{unlike} in the steps that its optimizer counts: {own:,} in {epoch} instead of {other:,}"
        case "moved":
            return f"{unlike} in how far it moves its weights in {epoch}: {significant(own, 2)} times as far"
        case "weights_changed":
            changed = "were changed outside training" if own else "were not changed outside training"
            return f"{unlike} in its weights, which {changed}, before {epoch}"
        case _:
            when = f"at the {'end' if found.aspect == 'learning_rate_at_end' else 'start'} of {epoch}"
            return f"{unlike} in its learning rate {when}: {significant(own)} instead of {significant(other)}"


def _threads(found: Finding) -> str:
    when = f" in epoch {found.about['epoch']}" if "epoch" in found.about else ""
    how = ", ".join(f"{name} {found.own[name]} instead of {found.other[name]}" for name in found.own)
    return f"its number of threads was changed{when}: {how}"


def _cores(found: Finding) -> str:
    epoch = found.about["epoch"]
    return f"its number of cores was changed in epoch {epoch}: {found.own} instead of {found.other}"


def _epoch(found: Finding) -> str:
    epoch = found.about["epoch"]
    if found.explanation:
        return f"known difference from {found.reference} in its {found.aspect} of epoch {epoch}: {found.explanation}"
    unlike = f"unlike {found.reference} in"
    if "accuracy" in found.aspect:
        both = f"{found.own:.4g} instead of {found.other:.4g}"
        return f"{unlike} its {found.aspect} of epoch {epoch}: {both}, at the same loss"
    both = f"{_loss(found.own)} instead of {_loss(found.other)}"
    if found.aspect == "loss":
        return f"{unlike} the loss of epoch {epoch}: {both}, from the same weights and batches"
    return f"{unlike} its {found.aspect} of epoch {epoch}: {both}, at the same loss in training"


def _loss(loss: float | None) -> str:
    return significant(loss, 3) if loss is not None and math.isfinite(loss) else "no number"


def _not_finite(found: Finding) -> str:
    return f"its {found.aspect} {is_not_finite(found)}"


def is_not_finite(found: Finding) -> str:
    """What its aspect is instead of a number, and since when."""
    about = found.about
    when = f" {'from' if about['on'] else 'in'} epoch {about['epoch']}" if "epoch" in about else ""
    return f"{'are' if found.aspect in ('weights', 'outputs') else 'is'} {found.own}{when}"


def _no_progress(found: Finding) -> str:
    """That a training comes to nothing."""
    where = " on any backend" if found.about["several"] else ""
    does = "fall" if found.aspect == "loss" else "change"
    return (
        f"its {found.aspect} does not {does} in {found.about['epochs']:,} epochs{where}, as with dead units, wrong "
        "labels or a wrong learning rate"
    )


def _not_steady(found: Finding) -> str:
    change, about = found.own, found.about
    how = f"{change:.2f} times slower" if change > 1 else f"{1 / change:.2f} times faster"
    if about["by call"]:
        return f"not steady: its calls became {how} from the first half of them to the second"
    more = f" (--epochs {2 * about['epochs']})" if about["epochs"] else ""
    halves = "from the first half of its steady epochs to the second"
    return f"not steady: its steps became {how} {halves}; use more epochs{more}"


def _kinds_of_process(found: Finding) -> str:
    times = f"{significant(found.own)} s an epoch, its {found.about['of']} short ones {significant(found.other)} s"
    return f"its two kinds of process differ: the whole one took {times}; only the short ones count"


def _odd_process(found: Finding) -> str:
    number = f".{found.about['number']}" if found.about["number"] else ""
    times = f"{significant(found.own)} times as long as the others"
    return f"process {found.about['repeat']}{number} took {times}, and hardly counts"


def _failed_processes(found: Finding) -> str:
    about = found.about
    return f"{found.own} of its {about['of']} further processes {about['status']}: {about['reason']}"


def _late_return(found: Finding) -> str:
    function = workloads.workload_for(found.aspect).function or "fit"
    seconds = significant(found.own)
    return f"each {function} takes {seconds} s more after its last batch (mean), which no time here includes"


def _memory_growth(found: Finding) -> str:
    about = found.about
    compiles = "; it compiles again in most of them and keeps what it compiled" if about["compiles"] else ""
    return (
        f"its memory grows by {significant(found.own, 2)} MiB with each {found.aspect}: from "
        f"{significant(about['first'])} to {significant(about['last'])} MiB after {about['count']:,}{compiles}"
    )


def _learning(found: Finding) -> str:
    return f"does not learn like {found.reference or 'the others'}: {scores_apart(found)}.{advice(found)}".rstrip(".")


def scores_apart(found: Finding) -> str:
    """How its final scores are unlike those of the others: by how much, and which they are."""
    return ", ".join(_apart(name, found.own[name], usual) for name, usual in found.other.items())


def _apart(score: str, own: float, usual: float) -> str:
    word = "lower" if own < usual else "higher"
    if score.endswith("accuracy"):
        size = f"{100 * abs(own - usual):.1f} points {word}" if f"{own:.4f}" != f"{usual:.4f}" else "the same"
        shown = [f"{value:.4f}" for value in (own, usual)]
    else:
        ratio = own / usual
        size = f"{abs(ratio - 1):.0%} {word}" if ratio < _TIMES else f"{significant(ratio)} times as high"
        shown = [f"{value:.4g}" for value in (own, usual)]
    words = f"{'validation' if score.startswith('val_') else 'training'} {score.removeprefix('val_')}"
    return f"{words} {size} ({' against '.join(dict.fromkeys(shown))})"


_TIMES = 2.0  # from here on a loss is so many times as high


def advice(found: Finding) -> str:
    """A known difference of its backend, or else what shows whether it is always so; empty if that is known."""
    if found.explanation:
        return f" A known difference may be why (docs/parity.md): {found.explanation}"
    if not found.about["single"]:
        return ""
    trainings = "One training" if found.about["repeats"] < 2 else f"{found.about['repeats']} identical trainings"
    return f" {trainings}: `--seeds 5` shows whether it is always so."


def _score_apart(found: Finding) -> str:
    others = found.reference or "the others"
    return f"it may learn differently from {others}, or this is chance: {scores_apart(found)}. `--seeds 5` tells"


KINDS: Mapping[str, Callable[[Finding], str]] = {
    "aspect": _aspect,
    "own weights": _own_weights,
    "outputs": _outputs,
    "first step": step_sentences.first_step,
    "last step": step_sentences.last_step,
    "received": _received,
    "threads": _threads,
    "cores": _cores,
    "changing outputs": lambda found: (
        f"its outputs changed from pass to pass, by up to {significant(found.own, 2)} of the largest number"
    ),
    "epoch": _epoch,
    "not finite": _not_finite,
    "arguments": lambda found: f"its arguments give it another {found.aspect}{_how(found)}",
    "run": lambda found: f"another {found.aspect}{_how(found)}",
    "told": lambda found: str(found.own),
    "damaged lines": lambda found: (
        f"{found.own} damaged {'line' if found.own == 1 else 'lines'} left out of what was measured"
    ),
    "first step unchecked": lambda found: f"its first optimizer step was not checked: {found.own}",
    "waiting": lambda found: (
        f"its process only waited in {found.own:.0%} of its epochs' time, others in {found.other:.0%}"
    ),
    "not steady": _not_steady,
    "not deterministic": lambda found: "not deterministic: repeats with the same seed have different losses",
    "kinds of process": _kinds_of_process,
    "odd process": _odd_process,
    "failed processes": _failed_processes,
    "uncounted operations": lambda found: f"operations of {', '.join(found.own)} are not counted",
    "late return": _late_return,
    "callbacks": lambda found: (
        f"its callbacks took {significant(found.own)} s of each epoch (mean), which are counted in its time"
    ),
    "memory growth": _memory_growth,
    "learning": _learning,
    "no progress": _no_progress,
    "score apart": _score_apart,
}
