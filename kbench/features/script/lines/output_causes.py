"""Why a call returns something else than on another backend, as far as it is known: from what the backends' files
declare, from the weights that went in, or from the settings of layers.
"""

from __future__ import annotations

from kbench.analysis.sameness.declared import WordsOfLayers, explains
from kbench.analysis.sameness.fingerprints import first_layer
from kbench.features.script.events import Returned, Weight
from kbench.features.script.lines import call_weights
from kbench.records.values import Measured
from kbench.words.sentences import layers
from kbench.words.text import significant

# What a call does otherwise.
PREDICT = "same weights"
WEIGHTLESS = "no weights"
FROM_FILE = "same file"
TRAINED = "same training"
EVALUATE = "same outputs"  # and other scores
INPUTS = "other inputs"
RANDOM = "from call to call"
MOST_NAMED = 3  # layers


def cause(does: str, one: Measured, own: Returned, reference: Measured, others: Returned) -> str:
    """What is known of why `one` does this; empty if nothing is."""
    if does == INPUTS:
        return ""
    if does == RANDOM:
        noisy = any("Dropout" in word or "Noise" in word for word in one.facts.layer_words)
        return "its dropout or noise is on" if noisy else ""
    lacking = call_weights.lacking(own, others)
    same_numbers = {weight.layer for weight in call_weights.carried(own, others)}
    if lacking and {*lacking} <= same_numbers:
        kept = fault(PREDICT, one, own, reference, others) or fault(PREDICT, reference, others, one, own)
        text = (
            f"load_weights gave {', '.join(lacking[:MOST_NAMED])} the same numbers on both, and did not convert them"
        )
        return f"{text}: {kept}" if kept else text
    if lacking:
        named = ", ".join(lacking[:MOST_NAMED]) + (" and others" if len(lacking) > MOST_NAMED else "")
        given = {weight.layer for weight in own.weights if weight.loaded}
        return f"{named} got {'other' if given & {*lacking} else 'no'} weights by load_weights there"
    if found := call_weights.averages(own, others):
        return _of_averages(found, one, own, reference, others)
    known = [fault(does, one, own, reference, others)]
    known += [_settings(one, reference)] if does == PREDICT else []
    if not any(known) and (of_other := fault(does, reference, others, one, own)):
        known = [f"{reference.cell.backend}: {of_other}"]
    return "; ".join(text for text in known if text)


def fault(does: str, one: Measured, own: Returned, other: Measured, others: Returned) -> str:
    """What the backend's file of `one` declares of its outputs or scores that shows here; without full stops."""
    return _declared("scores" if does == EVALUATE else "outputs", one, own, other, others)


def _of_averages(
    found: list[tuple[Weight, float]], one: Measured, own: Returned, other: Measured, others: Returned
) -> str:
    sizes: dict[str, float] = {}
    for weight, off in found:
        sizes[weight.weight] = max(off, sizes.get(weight.weight, 0.0))
    listed = ", ".join(
        f"{name.replace('_', ' ')} {significant(off, 2)} times its norm off" for name, off in sizes.items()
    )
    text = f"its trained weights agree, the others do not ({listed})"
    known = fault(TRAINED, one, own, other, others) or fault(TRAINED, other, others, one, own)
    return f"{text}: {known}" if known else text


def _declared(what: str, one: Measured, own: Returned, other: Measured, others: Returned) -> str:
    carried = {weight.kind for weight in call_weights.carried(own, others)}
    averages = {weight.kind for weight, _ in call_weights.averages(own, others)}
    found = []
    for known in one.facts.explained:
        beside, facts = other.cell.backend, one.facts
        if known.untrained:  # averages show in outputs, whatever else they change
            of_layers = WordsOfLayers(averages, facts.optimizer_class)
            fits = bool(averages) and explains(known, of_layers, known.what, beside, trained=False, as_shipped=True)
        elif known.carried:
            of_layers = WordsOfLayers(carried, facts.optimizer_class)
            fits = bool(carried) and explains(known, of_layers, (what,), beside, carried=True, as_shipped=True)
        else:
            fits = not averages and explains(known, facts, (what,), beside, as_shipped=True)
        found += [known.reason.rstrip(".")] if fits else []
    return "; ".join(dict.fromkeys(found))


def _settings(one: Measured, other: Measured) -> str:
    """The first layer that is another one, or is set otherwise."""
    own, others = one.facts.layers, other.facts.layers
    return "" if own is None or others is None or own == others else layers(*first_layer(own, others))
