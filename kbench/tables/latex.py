r"""summary.tex: the tables to paste into a paper, with booktabs; nothing from a result acts as a command.

Each is a `table` with its caption, label and notes: \usepackage{booktabs}, \input{summary.tex}.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import pandas as pd

from kbench.summary import Summary
from kbench.tables.content import Table, by_example, table
from kbench.text import plain

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
    """`text` as LaTeX that shows exactly that; pandas escapes fewer characters."""
    return "".join(_SPECIAL.get(character, character) for character in plain(text))


def _table(one: Table) -> str:
    rows = [[_cell(entry) for entry in row] for row in one.rows]
    name = re.sub(r"[^a-z0-9]+", "-", one.heading.partition(" (")[0].lower()).strip("-")
    text = (
        pd.DataFrame(rows, columns=list(map(escape, one.columns)))
        .style.hide(axis="index")
        .to_latex(
            hrules=True,
            column_format="".join("l" if column in one.text_columns else "r" for column in one.columns),
            caption=escape(one.heading),
            label=f"tab:{name or 'kbench'}",
            position_float="centering",
        )
    )
    below = " \\\\\n".join(map(escape, [*one.numbered, *one.remarks]))
    notes = f"\\par\\smallskip\\footnotesize\\raggedright\n{below}\n" if below else ""
    return text.replace("\\centering\n", "\\centering\n\\small\n", 1).replace(
        "\\end{table}", f"{notes}\\end{{table}}"
    )


def _cell(text: str) -> str:
    """The entry, with LaTeX's dash between two numbers."""
    return escape(text).replace("-", "--") if re.fullmatch(r"[\d.,]+-[\d.,]+", text) else escape(text)
