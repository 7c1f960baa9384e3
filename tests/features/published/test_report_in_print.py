"""report.html beside the literature: what is in print for the same workload, linked, escaped, or not there at all."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from fake_runs import cell, fake_run

from kbench import store
from kbench.base import paths
from kbench.features.published import figures as published
from kbench.outputs import one_run
from kbench.outputs.told import ToldRun
from kbench.records.values import OK, Outcome

CHECKOUT = Path(__file__).resolve().parents[3]
FOLDER = CHECKOUT / "results" / "published"
HOSTILE = '"><script>alert(1)</script>'


def page_of(parent: Path, *examples: str, **facts: Any) -> str:
    fates = [
        (cell(name, backend), 2.0, Outcome(OK)) for name in examples for backend in ("keras2/cntk", "keras3/jax")
    ]
    run = fake_run(parent, fates, "mine", **facts)
    one_run.rebuild(ToldRun(store.read(run)))
    return (run / "report.html").read_text("utf-8")


def section(page: str) -> str:
    found = re.search(r'<section class="print".*?</section>', page, re.DOTALL)
    return found[0] if found else ""


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder in the place of the published figures."""
    usual = paths.project_folder
    monkeypatch.setattr(paths, "project_folder", lambda name: tmp_path / name if name == "results" else usual(name))
    (tmp_path / "results" / "published").mkdir(parents=True)
    return tmp_path / "results" / "published"


def test_every_figure_of_the_same_workload_stands_beside_the_run_with_its_hardware_and_what_differs(
    tmp_path: Path,
) -> None:
    shown = section(page_of(tmp_path, "imdb_gru_cudnn", "my_own"))
    figures = [one for one in published.read() if one.workload == "imdb_gru_cudnn" and one.seconds]
    assert len(figures) > 10
    assert shown.count("<tr>") == 1 + len(figures)  # the head is one
    assert shown.count('<tr class="own">') == 2
    for one in figures:
        assert one.hardware in shown and one.framework in shown
    assert "batch size 64 published, 128 here" in shown or "batch size not published" in shown
    assert "published with cuDNN&#39;s recurrent kernel" in shown
    assert "my_own" not in shown


def test_a_source_is_a_link_to_where_it_is_found(tmp_path: Path) -> None:
    shown = section(page_of(tmp_path, "mnist_mlp"))
    assert '<a href="https://github.com/jasmeetsb/deep-learning-keras-projects" rel="noreferrer">' in shown
    assert "this run</a>" not in shown


def test_addresses_are_those_of_the_sources_that_the_readme_cites() -> None:
    with (FOLDER / "sources.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert published.addresses() == {row["source"]: row["address"] for row in rows}
    assert {row["source"] for row in rows} <= {one.source for one in published.read()}
    readme = (FOLDER / "README.md").read_text("utf-8")
    assert all(f"<{row['address']}>" in readme for row in rows)


def test_nothing_is_shown_where_nobody_published_the_workload(tmp_path: Path) -> None:
    assert section(page_of(tmp_path, "my_own")) == ""


@pytest.mark.parametrize("content", [None, "", "no,figures\n1,2\n", "\x00\xff"])
def test_without_readable_figures_the_page_is_as_ever(tmp_path: Path, other: Path, content: str | None) -> None:
    if content is not None:
        for name in ("figures.csv", "sources.csv"):
            (other / name).write_text(content, "latin-1")
    page = page_of(tmp_path, "imdb_gru")
    assert section(page) == "" and "imdb_gru" in page


def test_what_a_file_of_figures_says_is_text_and_no_link_but_to_the_web(tmp_path: Path, other: Path) -> None:
    with (FOLDER / "figures.csv").open(encoding="utf-8", newline="") as file:
        (head, *lines) = csv.reader(file)
    line = next(one for one in lines if one[head.index("workload")] == "imdb_gru")
    for name in ("framework", "hardware", "note"):
        line[head.index(name)] = HOSTILE
    with (other / "figures.csv").open("w", encoding="utf-8", newline="") as file:
        for number, source in enumerate(("good", "script", HOSTILE)):
            line[head.index("source")] = source
            csv.writer(file).writerows([head, line] if not number else [line])
    with (other / "sources.csv").open("w", encoding="utf-8", newline="") as file:
        addresses = [["good", f"https://x.example/{HOSTILE}"], ["script", "javascript:alert(1)"], [HOSTILE, "//x"]]
        csv.writer(file).writerows([["source", "address"], *addresses])
    page = page_of(tmp_path, "imdb_gru")
    assert section(page).count("<a ") - section(page).count(
        '<a href="#r0-contents">'
    ) == 1 and "javascript:" not in section(page)
    assert "<script>alert" not in page and HOSTILE not in page
