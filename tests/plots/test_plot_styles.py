"""Plots in the user's style and size: drawn, the same every time, and refused in one sentence."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from fake_bench import Said, call, refused
from fake_runs import COLORS, cell, fake_run

from kbench import store
from kbench.outputs import one_run
from kbench.outputs.told import ToldRun
from kbench.plots.styles import Style, titled
from kbench.records.values import OK, Outcome


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three backends in results/mine; the current folder is above it, and a picture of each kind is drawn."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kbench"])
    names = list(COLORS)[:3]
    fates = [(cell(backend=name), 0.4 * 3**place, Outcome(OK)) for place, name in enumerate(names)]
    return fake_run(tmp_path / "results", fates, "mine")


@pytest.fixture
def one(run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, of which the bars alone are drawn."""
    for name in ("overview", "convergence"):
        monkeypatch.setattr(one_run, name, lambda *_: {})
    return run


def report(capture: pytest.CaptureFixture[str], *options: str) -> Said:
    return call(capture, "report", "mine", *options)


def pixels(png: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_picture_has_the_size_that_was_asked_for(run: Path) -> None:
    one_run.rebuild(ToldRun(store.read(run)), style=Style("grayscale", (5.0, 4.0)))
    pictures = list((run / "plots").glob("*.png"))
    assert len(pictures) == 3
    assert {pixels(picture.read_bytes()) for picture in pictures} == {(750, 600)}
    assert all('width="360pt" height="288pt"' in path.read_text() for path in (run / "plots").glob("*.svg"))


def test_a_style_is_laid_over_the_projects_own_and_backends_keep_their_colours(one: Path) -> None:
    one_run.rebuild(ToldRun(store.read(one)))
    plain = (one / "plots" / "mnist_cnn-seconds.svg").read_text()
    one_run.rebuild(ToldRun(store.read(one)), style=Style("ggplot"))
    styled = (one / "plots" / "mnist_cnn-seconds.svg").read_text()
    assert "#e5e5e5" in styled and "#e5e5e5" not in plain
    for color in list(COLORS.values())[:3]:
        assert color in styled and color in plain


def test_without_options_pictures_are_as_ever_whatever_was_drawn_before(
    one: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(capsys).status == 0
    first = files(one)
    assert report(capsys, "--plot-style", "ggplot", "--plot-size", "7x5").status == 0
    changed = {name for name, content in files(one).items() if content != first[name]}
    assert changed == {"plots/mnist_cnn-seconds.png", "plots/mnist_cnn-seconds.svg"}
    assert report(capsys).status == 0
    assert files(one) == first


@pytest.mark.filterwarnings("error:Style includes")
def test_a_file_says_dots_an_inch_fonts_and_sizes_and_cannot_make_bytes_differ(one: Path) -> None:
    file = one.parent.parent / "mine.mplstyle"
    file.write_text("figure.dpi: 300\nfont.size: 7\nfont.family: serif\nsvg.hashsalt: other\nbackend: tkagg\n")
    written = []
    for style in (str(file), str(file), ""):
        one_run.rebuild(ToldRun(store.read(one)), style=Style(style, (3.3, 2.5)))
        written.append(files(one / "plots"))
    assert written[0] == written[1] != written[2]
    assert pixels(written[0]["mnist_cnn-seconds.png"]) == (990, 750)


def test_a_paper_gets_pdfs_as_wide_as_a_column_without_title_and_footer(
    one: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(capsys).status == 0
    before = files(one)
    assert report(capsys, "--plot-style", "paper").status == 0
    drawn = files(one / "plots")
    assert {Path(name).suffix for name in drawn} == {".png", ".svg", ".pdf"}
    pdf = drawn["mnist_cnn-seconds.pdf"]
    assert pdf.startswith(b"%PDF") and re.search(rb"/MediaBox \[ 0 0 252 ", pdf), "3.5 inches"
    assert b"CreationDate" not in pdf, "the same run gives the same bytes"
    for name, content in drawn.items():
        assert name.endswith(".pdf") or content != before[f"plots/{name}"]
    assert pixels(drawn["mnist_cnn-seconds.png"])[0] == 525
    assert report(capsys).status == 0
    assert files(one) == before, "and its PDFs are gone"
    synthetic = Style("paper", synthetic=frozenset({"a"}))
    assert (titled("a", "a", synthetic), titled("b", "b", synthetic)) == ("(synthetic data)", "")


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("style", "ggplott", "'ggplott' is neither a file nor a matplotlib style: did you mean ggplot?"),
        ("style", "zzz", "choose from paper, Solarize_Light2, bmh,"),
        ("style", "http://127.0.0.1/x.mplstyle", "is neither a file nor a matplotlib style"),
        ("style", ".", "is neither a file nor a matplotlib style"),
        ("style", "", "--plot-style is empty"),
        ("style", "a\nb", "'a b' is neither"),
        ("style", "damaged.mplstyle", "No plot can be drawn in that --plot-style and --plot-size"),
        ("style", "sparse.mplstyle", "is larger than 1 MiB"),
        ("style", "huge.mplstyle", "No plot can be drawn in that --plot-style and --plot-size"),
        *(
            ("size", size, "is not a width and a height from 1 to 40 inches, such as 3.3x2.5")
            for size in ("0x0", "3.3", "nanx3", "1e9x3", "41x3", "3,3x2", "infxinf", "", "3x-2", "٣x٣")
        ),
        ("size", "1x1", "No plot can be drawn in that --plot-style and --plot-size"),
    ],
)
def test_a_wrong_style_or_size_is_one_sentence_and_nothing_is_written(
    one: Path, capsys: pytest.CaptureFixture[str], option: str, value: str, words: str
) -> None:
    Path("damaged.mplstyle").write_bytes(b"\xff")
    Path("huge.mplstyle").write_text("figure.dpi: 1e9")
    Path("sparse.mplstyle").touch()
    os.truncate("sparse.mplstyle", 1 << 40)
    before = files(one)
    said = report(capsys, f"--plot-{option}={value}")
    refused(said, words)
    assert said.out == "" and files(one) == before


def test_the_backend_of_a_notebooks_shell_hinders_no_plot_and_programs_still_get_it() -> None:
    environ = {**os.environ, "MPLBACKEND": "module://no_such_package.backend_inline"}
    code = "import kbench.outputs.one_run, os; print(os.environ['MPLBACKEND'])"
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True)
    assert done.stdout == "module://no_such_package.backend_inline\n", done.stderr
