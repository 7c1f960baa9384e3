"""What is derived from a run: always the same bytes, whatever its names hold."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from fake_runs import cell, fake_run

from kbench import store
from kbench.errors import UserError
from kbench.outputs import one_run
from kbench.outputs.told import ToldRun
from kbench.records.values import FAILED, OK, UNSUPPORTED, Outcome


def a_run(parent: Path) -> Path:
    return fake_run(
        parent,
        [
            (cell(backend="keras2/cntk", repeat=1), 2.0, Outcome(OK)),
            (cell(backend="keras2/cntk", repeat=2), 2.2, Outcome(OK)),
            (cell(backend="keras3/jax"), 1.0, Outcome(OK)),
            (cell(backend="keras3/openvino"), 1.0, Outcome(UNSUPPORTED, "=it only runs | <models>")),
        ],
    )


def test_deleting_and_rebuilding_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = a_run(tmp_path)
    written = one_run.rebuild(ToldRun(store.read(run)))
    first = {path: path.read_bytes() for path in written}
    assert {str(path.relative_to(run)) for path in written} == {
        "summary.csv",
        "epochs.csv",
        "findings.json",
        "summary.md",
        "summary.tex",
        "report.html",
        "plots/overview.png",
        "plots/overview.svg",
        "plots/mnist_cnn-convergence.png",
        "plots/mnist_cnn-convergence.svg",
        "plots/mnist_cnn-seconds.png",
        "plots/mnist_cnn-seconds.svg",
    }
    assert all(first.values())
    for path in written:
        path.unlink()
    shutil.rmtree(run / "plots")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    assert one_run.rebuild(ToldRun(store.read(run))) == written
    assert {path: path.read_bytes() for path in written} == first


def test_rebuilding_touches_no_raw_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    raw = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    written = one_run.rebuild(ToldRun(store.read(run)))
    assert {path for path in run.rglob("*") if path.is_file()} == {*raw, *written}
    assert {path: path.read_bytes() for path in raw} == raw


def test_the_tables_hold_what_was_measured(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    one_run.rebuild(ToldRun(store.read(run)))
    summary = pd.read_csv(run / "summary.csv")
    assert list(summary.backend) == ["keras3/jax", "keras2/cntk", "keras3/openvino"]
    assert list(summary.repeats) == [1, 2, 0]
    assert summary.reason[2] == "'=it only runs | <models>"
    rows = pd.read_csv(run / "epochs.csv")
    assert len(rows) == 9
    assert rows.seconds.tolist()[:3] == [4.0, 2.0 * 1.02, 2.0 * 1.03]


def test_the_page_links_the_plots_and_escapes_what_it_quotes(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    one_run.rebuild(ToldRun(store.read(run)))
    page = (run / "summary.md").read_text()
    assert page.startswith(f"# kbench: {run.name}\n")
    assert "keras3/jax was fastest. Rows: 2 ok, 1 unsupported." in page
    assert "A processor, 2 cores, 23 GiB, Linux 6.1, CPU only." in page
    assert "(plots/mnist_cnn-convergence.png)" in page
    assert r"=it only runs \| &lt;models&gt;" in page
    assert all((run / link.split(")")[0]).is_file() for link in page.split("](")[1:])


def test_an_example_named_like_markup_stays_text(tmp_path: Path) -> None:
    run = fake_run(tmp_path, [(cell(example="<script>$x$", backend="keras2/$b$"), 1.0, Outcome(OK))])
    written = one_run.rebuild(ToldRun(store.read(run)))
    assert "<script" not in (run / "summary.md").read_text()
    assert all(path.parent in (run, run / "plots") for path in written)
    for picture in (run / "plots").glob("*.svg"):
        assert "<script" not in picture.read_text()


def test_a_run_in_which_nothing_was_measured_still_has_its_tables(tmp_path: Path) -> None:
    run = fake_run(tmp_path, [(cell(), 1.0, Outcome(FAILED, "boom"))])
    files = {"summary.csv", "epochs.csv", "findings.json", "summary.md", "summary.tex", "report.html"}
    assert {path.name for path in one_run.rebuild(ToldRun(store.read(run)))} == files
    assert "No backend has a steady epoch to compare. Rows: 1 failed." in (run / "summary.md").read_text()


def test_a_run_of_no_cells_is_no_error(tmp_path: Path) -> None:
    run = fake_run(tmp_path, [])
    one_run.rebuild(ToldRun(store.read(run)))
    assert "Nothing was measured." in (run / "summary.md").read_text()
    assert (run / "summary.csv").read_text().startswith("example,backend,")


def test_pictures_that_are_no_longer_derived_go_and_the_users_own_files_stay(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    plots = run / "plots"
    plots.mkdir()
    stale = ("gone-convergence.png", "gone-convergence.svg", "gone-seconds.png", "gone-seconds.pdf")
    users = ("mine.png", "seconds.png", "gone-seconds.jpg", "overview.png.bak", "my-overview.png", "notes.txt")
    for name in (*stale, *users):
        (plots / name).write_bytes(b"there")
    (plots / "linked-seconds.png").symlink_to(plots / "mine.png")
    (plots / "folder-seconds.png").mkdir()
    written = one_run.rebuild(ToldRun(store.read(run)))
    own = {path.name for path in written if path.parent == plots}
    assert {path.name for path in plots.iterdir()} == own | {*users, "linked-seconds.png", "folder-seconds.png"}
    assert all((plots / name).read_bytes() == b"there" for name in users)


def test_a_run_that_was_handed_on_with_a_link_for_its_plots_writes_nothing_elsewhere(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (run / "plots").symlink_to(elsewhere)
    one_run.rebuild(ToldRun(store.read(run)))
    assert not list(elsewhere.iterdir())
    assert not (run / "plots").is_symlink() and (run / "plots" / "overview.png").is_file()


def test_a_run_is_called_as_its_folder_is_now(tmp_path: Path) -> None:
    run = a_run(tmp_path).rename(tmp_path / "renamed")
    one_run.rebuild(ToldRun(store.read(run)))
    assert (run / "summary.md").read_text().startswith("# kbench: renamed\n")
    assert "<h1>renamed</h1>" in (run / "report.html").read_text()


def test_the_title_of_a_run_that_nobody_named_says_what_was_measured(tmp_path: Path) -> None:
    run = a_run(tmp_path).rename(tmp_path / "2026-11-29T19-02-37")
    one_run.rebuild(ToldRun(store.read(run)))
    page = (run / "report.html").read_text()
    what = "mnist_cnn on keras3/jax, keras2/cntk and keras3/openvino"
    assert f"<h1>{what}</h1>" in page and f"<title>kbench: {what}</title>" in page
    assert "kbench · 2026-11-29T19-02-37 · " in page


def test_an_overview_of_what_is_no_longer_timed_goes(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    one_run.rebuild(ToldRun(store.read(run)))
    for outcome in run.glob("cells/*/outcome.json"):
        outcome.write_text('{"status": "failed", "reason": "boom"}')
    one_run.rebuild(ToldRun(store.read(run)))
    assert [path.name for path in (run / "plots").glob("overview.*")] == []


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    run = fake_run(tmp_path, [(cell(), 1.0, Outcome(FAILED, "boom"))])
    (run / "plots").write_text("in the way")
    with pytest.raises(UserError, match=r"^Cannot make .*plots: File exists\.$"):
        one_run.rebuild(ToldRun(store.read(run)))
