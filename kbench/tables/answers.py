"""The answer in sentences: on which backend an example is fastest, by how much, and where no difference is shown."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from kbench.text import beside_one, plain, significant
from kbench.values import NO_DIFFERENCE, Summary


def answer(rows: Sequence[Summary]) -> str:
    """The result of one example; empty where no row has a steady time."""
    timed = sorted((row for row in rows if row.relative_to_fastest is not None), key=lambda row: row.device)
    several = len({row.device for row in rows}) > 1
    sentences = [
        _of_device(sorted(group, key=lambda row: row.relative_to_fastest or 0.0), f" on {device}" if several else "")
        for device, group in groupby(timed, key=lambda row: row.device)
    ]
    return plain(" ".join(sentences))


def _of_device(rows: Sequence[Summary], where: str) -> str:
    """`rows` are the comparable ones, fastest first."""
    fastest = [row for row in rows if row.relative_to_fastest == 1]
    others = rows[len(fastest) :]
    names = " and ".join(dict.fromkeys(row.backend for row in fastest))
    of_call = rows[0].unit in ("epoch", "call")
    does = "is" if of_call else {"train": "trains", "infer": "predicts"}.get(rows[0].task, "runs")
    if not others and len(fastest) == 1:
        time = (
            f"takes {_time(rows[0])}{where} on {names}"
            if of_call
            else f"{does}{where} on {names} in {_time(rows[0])}"
        )
        return f"{rows[0].example} {time}; there is nothing to compare it with."
    sentences = [f"{rows[0].example} {does} fastest{where} on {names}: {_time(rows[0])}."]
    unsure = [row for row in others if _unsure(row)]
    sure = [row for row in others if not _unsure(row)]
    if sure:
        last = f"; the slowest, {sure[-1].backend}, {_ratio(sure[-1], ' times')}" if len(sure) > 1 else ""
        sentences.append(f"{sure[0].backend} takes {_ratio(sure[0], ' times as long')}{last}.")
    if unsure:
        listed = ", ".join(f"{row.backend} ({_ratio(row, ' times,', '{} to {}')})" for row in unsure)
        sentences.append(f"No difference is shown for {listed}.")
    return " ".join(sentences)


def _unsure(row: Summary) -> bool:
    interval = row.relative_interval
    return row.verdict == NO_DIFFERENCE if not row.baseline else bool(interval and interval.low <= 1)


def _time(row: Summary) -> str:
    if row.task == "infer" and not row.unit:
        return f"{significant(row.seconds_per_1000_samples)} s per 1,000 samples"
    each = {"run": "", "call": " a call"}.get(row.unit, " an epoch")
    return f"{significant(row.epoch_seconds)} s{each}"


def _ratio(row: Summary, unit: str, ends: str = "({} to {})") -> str:
    """Such as `1.51 times as long (1.43 to 1.57)`."""
    interval = row.relative_interval
    shown = ends.format(beside_one(interval.low), beside_one(interval.high)) if interval else "(no interval)"
    return f"{beside_one(row.relative_to_fastest or 0.0)}{unit} {shown}"
