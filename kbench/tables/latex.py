r"""summary.tex: the tables to paste into a paper, with booktabs; nothing from a result acts as a command.

Each is a `table` with its caption, label and notes: \usepackage{booktabs}, \input{summary.tex}.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tabulate import tabulate

from kbench.tables.content import Table, tables
from kbench.text import plain
from kbench.values import Summary

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "[": "{[}",  # or a note after a line's end would be how far to skip
    "±": r"\(\pm\)",
    "…": r"\ldots{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
_BETWEEN_NUMBERS = re.compile(r"(?<=\d)-(?=\d)")


def latex(summaries: Iterable[Summary]) -> str:
    """All tables, one per example."""
    return "% Needs \\usepackage{booktabs}\n\n" + "\n".join(_table(one) for one in tables(summaries))


def escape(text: str) -> str:
    """`text` as LaTeX that shows just that."""
    return "".join(_SPECIAL.get(character, character) for character in plain(text))


def _table(one: Table) -> str:
    grid = tabulate(
        [[_cell(entry) for entry in row] for row in one.rows],
        headers=[escape(column) for column in one.columns],
        tablefmt="latex_raw",  # escaped above: its own escaping knows fewer characters
        colalign=["left" if column in one.text_columns else "right" for column in one.columns],
        disable_numparse=True,
    )
    rules = iter((r"\toprule", r"\midrule", r"\bottomrule"))
    grid = re.sub(r"\\hline", lambda _: next(rules), grid)
    notes = [f"[{number}] {note}" for number, note in enumerate(one.footnotes, 1)]
    below = " \\\\\n".join(map(escape, [*notes, *one.remarks]))
    name = re.sub(r"[^a-z0-9]+", "-", one.heading.partition(" (")[0].lower()).strip("-")
    lines = [
        r"\begin{table}",
        r"\centering",
        r"\small",
        f"\\caption{{{escape(one.heading)}}}",
        f"\\label{{tab:{name or 'kbench'}}}",
        grid,
        *([r"\par\smallskip\footnotesize\raggedright", below] if below else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return _BETWEEN_NUMBERS.sub("--", escape(text)) if re.fullmatch(r"[\d.,]+-[\d.,]+", text) else escape(text)
