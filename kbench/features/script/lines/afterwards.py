"""What was tried out when a program had ended, in words: see kbench_script/watching/afterwards.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kbench.features.script import events
from kbench.features.script.events import BesideFit, Restored
from kbench.features.script.lines import call_outputs
from kbench.features.script.lines.call_weights import number
from kbench.features.script.lines.line_details import with_details
from kbench.records.axes import RowKey
from kbench.records.values import OK, Measured
from kbench.summary import Summary

CHEAPER, SAVED = 2.0, 0.001  # times faster, and seconds a call: from then on predict_on_batch is named
EXPLAINS = 0.5  # of the difference between fit and evaluate: the mode is why


def add_notes(rows: Sequence[Summary], measured: Iterable[Measured]) -> list[Summary]:
    """The rows, with what was found of them."""
    found: dict[RowKey, str] = {}
    on_batch: dict[RowKey, float] = {}
    times = {row.key: row.epoch_seconds for row in rows}
    for one in measured:
        told, key = events.returned_by(one.facts), one.cell.key
        if one.outcome.status != OK or told is None or key in found:
            continue
        seconds, usual = told.on_batch_seconds, times.get(key)
        if told.restored is not None and (text := _not_restored(told.restored, one.cell.site)):
            found[key] = text
        elif told.beside_fit is not None:
            found[key] = _disagreement(told.beside_fit, one.cell.site)
        elif seconds and usual and usual > max(CHEAPER * seconds, seconds + SAVED):
            on_batch.setdefault(key, seconds)
    return [
        with_details(row, afterwards=found.get(row.key, ""), on_batch_seconds=on_batch.get(row.key)) for row in rows
    ]


def _not_restored(told: Restored, line: str) -> str:
    """That evaluate has another loss than the epoch whose weights the model has again; empty if it has not."""
    own, its = number(told.evaluate), number(told.fit)
    if not call_outputs.apart(own, its):
        return ""
    sizes = f", in batches of {told.sizes[0]:,} and not {told.sizes[1]:,}" if len({*told.sizes}) == 2 else ""
    return (
        f"{line} has a loss of {own:.4g} where epoch {told.epoch} of {told.site}, whose weights EarlyStopping "
        f"restores, had {its:.4g} on the same data{sizes}"
    )


def _disagreement(told: BesideFit, line: str) -> str:
    text = f"accuracy is {told.evaluate:.3g} in {line} and {told.fit:.3g} in {told.site}, on the same data"
    if abs(told.training - told.inference) >= EXPLAINS * abs(told.fit - told.evaluate):
        modes = f"{told.training:.3g} in training mode and {told.inference:.3g} in inference mode"
        return f"{text}: the trained model gives {modes}, by {' and '.join(told.layers) or 'a layer of its own'}"
    return f"{text}; not by the mode: the trained model gives {told.training:.3g} in training mode, too"
