"""Published comparisons: `--suite` runs one again, and a run's figures stand beside those of the literature."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbench import hooks
from kbench.additions import ChosenExamples, FurtherOptions, ReferenceLine, Section, Told
from kbench.features.published.values import PUBLISHED, SUITES

if TYPE_CHECKING:
    from kbench.analysis.rows import Analysis
    from kbench.planning.request import Request
    from kbench.records.values import Device

_HERE = Path(__file__).parent
_SUITE = {
    "metavar": "SUITE",
    "help": "measure a suite: a name from `list suites`, or your own file.toml. --examples names some of its "
    "examples; other options that you give replace the suite's. --profile smoke takes only the first of several "
    "batch sizes, threads, layouts and data",
}


@hooks.fills
def further_options() -> Mapping[str, FurtherOptions]:
    """`run --suite`, `list suites`, `list published` and `compare RUN published`."""
    workload = {"nargs": "?", "help": "with published: only the figures of this workload"}
    return {
        "run": FurtherOptions(
            "a published comparison again",
            ("--suite",),
            {"--suite": _SUITE},
            usual=("--suite",),
            kept=True,
            completions={"suite": _names},
            examples=_HERE / "run.txt",
        ),
        "list": FurtherOptions(
            "of published figures",
            ("workload",),
            {"workload": workload},
            choices={"what": (SUITES, PUBLISHED)},
            examples=_HERE / "list.txt",
        ),
        "compare": FurtherOptions("", (), {}, examples=_HERE / "compare.txt"),
    }


def _names() -> list[str]:
    from kbench.features.published import suites

    return list(suites.files())


@hooks.fills
def instead(options: argparse.Namespace) -> int | None:
    """Of `list` and `compare` what is of published figures."""
    if options.command == "list":
        from kbench.features.published import lists

        return lists.print_listed(options)
    if options.command == "compare" and PUBLISHED in options.runs:
        from kbench.features.published import beside_run

        return beside_run.print_beside(options)
    return None


@hooks.fills
def chosen_examples(options: Mapping[str, Any], devices: Sequence[Device]) -> ChosenExamples | None:
    """Those of `--suite`."""
    if not options.get("suite"):
        return None
    from kbench.features.published import chosen

    return chosen.examples(options, devices)


@hooks.fills
def planned(request: Request) -> Sequence[str]:
    """The suite, and how much of it a smoke run leaves."""
    about = request.asked.get("suite")
    if not about:
        return []
    less = f"left out: {about['left_out']}" if about["left_out"] else ""
    if request.profile == "smoke":
        less = "smoke: only the first of several batch sizes, threads, layouts and data"
    return [f"  suite      {about['name']}: {about['title']}", *([f"             {less}"] if less else [])]


@hooks.fills
def told(analysis: Analysis) -> Told:
    """A suite's tables, and the run's times and accuracies beside published ones."""
    from kbench.features.published import accuracies, accuracy_tables, figures, page_tables, suite_tables, suites

    known, rows = figures.read_or_empty(), analysis.rows
    reached = accuracies.match_published(rows, analysis.run.measured, known)
    beside = page_tables.tables(figures.beside_figures(rows, known), figures.addresses())
    of_accuracies = [accuracy_tables.table(one) for one in reached]
    sections = [Section("", of_accuracies, in_report=False)]
    if suite := suites.of_request(analysis.run.request):
        source = suite_tables.source(suite)
        sections.append(
            Section(
                suite_tables.heading(suite),
                suite_tables.tables(suite, rows, known),
                lead=source,
                hint=f"Laid out as the original is; this run's rows are in bold. {source}",
                contents="As published",
                on_screen=suite_tables.tables(suite, rows, known, measured_only=True),
            )
        )
    sections.append(
        Section(
            "Published figures",
            [*beside, *of_accuracies],
            hint=_BESIDE if beside else "",
            contents="Published figures",
            folded=True,
            in_summary=False,
        )
    )
    references = {one.example: ReferenceLine(one.value, one.ends, one.in_words) for one in reached}
    return Told(sections=sections, references=references)


_BESIDE = (
    "This run (in bold) beside published times for the same workload and the same amount of work, fastest first. The "
    "sources used other hardware and versions, so a ratio does not rank the backends."
)
