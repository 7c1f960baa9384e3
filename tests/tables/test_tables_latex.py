"""summary.tex: booktabs tables in which nothing from a result acts as a command."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from fake_runs import cell, measured, notes, summary

from kbench.analysis.summaries import summarise
from kbench.records.values import FAILED
from kbench.tables.latex import _cell, escape, latex


def test_a_table_has_rules_caption_label_notes_and_a_cell_for_each_column() -> None:
    cells = [
        measured(cell(backend="keras3/jax"), 9.0, 1.0, 1.2, val_accuracy=0.95),
        measured(cell(backend="keras3/torch"), 9.0, 2.0, 2.2, val_accuracy=0.9375),
        measured(cell(backend="keras2/cntk"), status=FAILED, reason="100 % of 2_GB & more"),
    ]
    text = latex(summarise(cells))
    assert text.startswith("% Needs \\usepackage{booktabs}\n\n\\begin{table}\n")
    assert re.findall(r"\\\w+rule|\\hline", text) == [r"\toprule", r"\midrule", r"\bottomrule"]
    assert r"\label{tab:mnist-cnn}" in text
    assert r"\caption{mnist\_cnn (quick: 1,000 samples, 3 epochs, batch 128, cpu)}" in text
    (row,) = [line for line in text.splitlines() if line.strip().startswith("keras3/torch")]
    (columns,) = re.findall(r"\\begin\{tabular\}\{([lr]+)\}", text)
    assert row.count(" & ") + 1 == len(columns)
    assert r"2.10 \(\pm\) 0.75" in row and "(0.904--4.03)" in row, "the intervals of its time and of its ratio"
    assert r"{[}1] 100 \% of 2\_GB \& more" in text


@pytest.mark.parametrize(
    "hostile", [r"\input{/etc/passwd}", "100%", "a_b^c~d", "$x$ & {y} # <z> | \\", 'a"b', "é ± …"]
)
def test_names_stay_text(hostile: str) -> None:
    text = latex([replace(summary(hostile), example=hostile, findings=notes(hostile))])
    assert r"\input" not in text
    body = re.sub(r"\\text\w+\{\}|\\ldots\{\}|\\\(\\pm\\\)|\\[&%$#_{}]", "", "\n".join(text.splitlines()[1:]))
    assert not re.search(r"[%$#_^~<>|\"±…]", body), body
    assert body.count("{") == body.count("}")


def test_what_has_a_meaning_is_escaped() -> None:
    assert escape("a\\b") == r"a\textbackslash{}b"
    assert escape("0.95 ± 0.01") == r"0.95 \(\pm\) 0.01"


@pytest.mark.parametrize(
    ("text", "typeset"),
    [
        ("0.904-4.03", "0.904--4.03"),
        ("~1.06 (0.941-1.17)", r"\textasciitilde{}1.06 (0.941--1.17)"),
        ("-", "--"),
        ("x baseline", r"\(\times\) baseline"),
        ("kernels of 3 x 3 x 32", r"kernels of 3 \(\times\) 3 \(\times\) 32"),
        ("keras3/jax@0.9-rc1", "keras3/jax@0.9-rc1"),
        ("from 2026-11-20 on, x is 1-2", "from 2026-11-20 on, x is 1--2"),
    ],
)
def test_ranges_have_en_dashes_and_products_their_sign(text: str, typeset: str) -> None:
    assert _cell(text) == typeset
