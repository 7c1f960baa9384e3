r"""summary.tex: the tables to paste into a paper, with booktabs; nothing from a result acts as a command.

Each is a `table` with its caption, label and notes: \usepackage{booktabs}, \input{summary.tex}.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kbench.summary import Summary
from kbench.tables.content import Table, by_example, table
from kbench.words.text import plain

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "[": "{[}",  # after a line break LaTeX would take it for an option
    "±": r"\(\pm\)",
    "…": r"\ldots{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def latex(summaries: Iterable[Summary]) -> str:
    """All tables, one per example, each with all of its notes: a paper may take one alone."""
    return "% Needs \\usepackage{booktabs}\n\n" + "\n".join(_table(table(rows)) for rows in by_example(summaries))


def escape(text: str) -> str:
    """`text` as LaTeX that shows exactly that."""
    return "".join(_SPECIAL.get(character, character) for character in plain(text))


def _table(one: Table) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", one.heading.partition(" (")[0].lower()).strip("-")
    below = " \\\\\n".join(map(_cell, [*one.numbered, *one.remarks]))
    lines = [
        r"\begin{table}",
        r"\centering",
        r"\small",
        rf"\caption{{{escape(one.heading)}}}",
        rf"\label{{tab:{name or 'kbench'}}}",
        rf"\begin{{tabular}}{{{''.join('l' if column in one.text_columns else 'r' for column in one.columns)}}}",
        r"\toprule",
        _row(map(_cell, one.columns)),
        r"\midrule",
        *(_row(map(_cell, row)) for row in one.rows),
        r"\bottomrule",
        r"\end{tabular}",
        *([r"\par\smallskip\footnotesize\raggedright", below] if below else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _row(entries: Iterable[str]) -> str:
    return " & ".join(entries) + r" \\"


def _cell(text: str) -> str:
    """The text with LaTeX's dash in ranges and for an empty cell, and its sign in `x baseline` and `3 x 3`."""
    ranges = re.sub(r"(?<![\w.,-])([\d.,]+)-(?=[\d.,]+(?![\w.-]))", r"\1--", escape(text))
    return re.sub(r"^x(?= \w)|(?<=\d )x(?= \d)", r"\\(\\times\\)", "--" if text == "-" else ranges)
