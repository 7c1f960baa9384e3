"""What programs may rely on in findings.json."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import get_args

from fake_runs import UNLIKE, notes, summary

from kbench import hooks
from kbench.outputs import findings
from kbench.records.findings import Finding, Kind

DESCRIBED = Path(__file__).resolve().parents[2] / "docs" / "findings.csv"
KINDS = {kind for several in get_args(Kind) for kind in get_args(several)} | {*hooks.finding_kinds()}


def test_a_finding_says_of_which_row_it_is_and_whether_that_is_not_compared() -> None:
    loss = Finding(kind="epoch", aspect="loss", reference="a/x", own=math.nan, other=0.5, about={"epoch": 2})
    row = summary("keras3/jax", axes={"batch_size": 64}, findings=(*UNLIKE, loss, loss, *notes("a note")))
    text = findings.findings_json([row, summary()])
    told = json.loads(text)
    assert text.endswith("\n") and told["schema"] == 1
    assert [(one["backend"], one["kind"], one["differs"]) for one in told["findings"]] == [
        ("keras3/jax", "aspect", True),
        ("keras3/jax", "epoch", True),
        ("keras3/jax", "told", False),
    ]
    first, second, _ = told["findings"]
    assert tuple(first) == findings.COLUMNS and first["sentence"] == "unlike a/x in its data"
    assert (second["own"], second["other"], second["about"]) == (None, 0.5, {"epoch": 2})
    assert second["axes"] == {"batch_size": 64}


def test_every_key_and_kind_is_described() -> None:
    with DESCRIBED.open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    assert [row["name"] for row in rows if row["of"] == "key"] == [*findings.COLUMNS]
    assert sorted(row["name"] for row in rows if row["of"] == "kind") == sorted(KINDS - {"run"})
    assert all(row["meaning"] for row in rows)
