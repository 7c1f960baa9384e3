"""Plots in the user's style and size: drawn, fitting, the same every time, and refused in one sentence."""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path

import matplotlib as mpl
import pytest
from fake_bench import Said
from fake_runs import COLORS, cell, fake_run
from matplotlib.figure import Figure
from matplotlib.text import Text

from kbench import outputs, store
from kbench.analysis.summaries import summarise
from kbench.cli import main
from kbench.errors import UserError
from kbench.outputs import one_run
from kbench.plots import look
from kbench.plots.bars import _figure as draw_bars
from kbench.plots.fitting import fit
from kbench.plots.look import looks
from kbench.plots.overview import overview
from kbench.plots.style import OWN, Style, chosen
from kbench.values import FAILED, OK, UNSUPPORTED, Outcome

SMALL, LARGE = (3.3, 2.5), (7.0, 5.0)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight backends in results/mine, of which one cannot and one failed; the current folder is above it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["kbench"])
    *ok, failing, last = COLORS
    fates = [(cell(backend=name), 0.4 * 3**place, Outcome(OK)) for place, name in enumerate(ok)]
    fates += [(cell(backend=failing), 1.0, Outcome(FAILED, "boom"))]
    return fake_run(tmp_path / "results", [*fates, (cell(backend=last), 1.0, Outcome(UNSUPPORTED, "no"))], "mine")


@pytest.fixture
def one(run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, of which the bars alone are drawn."""

    for name in ("overview", "convergence"):
        monkeypatch.setattr(one_run, name, lambda *_: {})
    return run


def report(capture: pytest.CaptureFixture[str], *options: str) -> Said:
    capture.readouterr()
    status = main.main(("report", "mine", *options))
    printed = capture.readouterr()
    return Said(status, printed.out, printed.err)


def pixels(png: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("style", ["", "grayscale", "seaborn-v0_8-paper", "ggplot"])
def test_every_picture_has_the_size_that_was_asked_for_and_its_text_lies_within(
    run: Path, monkeypatch: pytest.MonkeyPatch, style: str
) -> None:
    drawn: list[Figure] = []
    written = look._written
    monkeypatch.setattr(look, "_written", lambda figure: drawn.append(figure) or written(figure))
    outputs.rebuild(run, plot_style=style, plot_size=SMALL)
    assert {path.name for path in (run / "plots").glob("*.png")} == {
        "overview.png",
        "mnist_cnn-convergence.png",
        "mnist_cnn-seconds.png",
    }
    for picture in (run / "plots").glob("*.png"):
        assert pixels(picture.read_bytes()) == (495, 375)
    for picture in (run / "plots").glob("*.svg"):
        assert 'width="237.6pt" height="180pt"' in picture.read_text()
    for figure in drawn:
        outside = [text.get_text() for text in shown(figure) if not inside(text, figure)]
        assert outside == []


def shown(figure: Figure) -> list[Text]:
    """All texts, but for those of ticks beyond an axis's end, which are not drawn."""
    found = [*figure.texts, *(text for one in figure.legends for text in one.get_texts())]
    for axes in figure.axes:
        found += [*axes.texts, axes.title, axes.xaxis.label, axes.yaxis.label]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            found += [label for tick in ticks for label in (tick.label1, tick.label2)]
    return [text for text in found if text.get_text() and text.get_visible()]


def inside(text: Text, figure: Figure) -> bool:
    box, whole = text.get_window_extent(), figure.bbox
    return bool(box.x0 >= -1 and box.y0 >= -1 and box.x1 <= whole.x1 + 1 and box.y1 <= whole.y1 + 1)


def test_words_that_a_narrow_column_cannot_hold_become_letters_with_a_legend(run: Path) -> None:
    rows = summarise(store.read(run).measured)
    said = overview(rows, looks(rows, COLORS), Style(size=SMALL))["svg"].decode()
    assert set(re.findall(r"<!-- (.*?) -->", said)) >= {"failed", "a", "a: unsupported"}
    wide = overview(rows, looks(rows, COLORS), Style(size=(9.0, 4.0)))["svg"].decode()
    assert set(re.findall(r"<!-- (.*?) -->", wide)) >= {"failed", "unsupported"}


def test_a_long_label_is_wrapped_and_bars_leave_their_labels_room(run: Path) -> None:
    rows = summarise(store.read(run).measured)
    with mpl.rc_context({"font.size": 7}):
        figure = draw_bars(rows, looks(rows, COLORS), Style(size=SMALL))
        fit(figure)
    (axes,) = figure.axes
    assert axes.get_xlabel().count("\n") == 1
    assert max(text.get_window_extent().x1 for text in axes.texts) <= figure.bbox.x1


def test_a_style_is_laid_over_the_projects_own_and_backends_keep_their_colours(one: Path) -> None:
    outputs.rebuild(one)
    plain = (one / "plots" / "mnist_cnn-seconds.svg").read_text()
    outputs.rebuild(one, plot_style="ggplot")
    styled = (one / "plots" / "mnist_cnn-seconds.svg").read_text()
    assert "#e5e5e5" in styled and "#e5e5e5" not in plain
    for color in list(COLORS.values())[:6]:
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


def test_a_file_says_dots_an_inch_fonts_and_sizes_and_cannot_make_bytes_differ(one: Path) -> None:
    file = one.parent.parent / "mine.mplstyle"
    file.write_text(
        "savefig.dpi: 300\nfont.size: 7\nfont.family: serif\nfont.serif: DejaVu Serif\nsavefig.facecolor: white\n"
        "figure.facecolor: red\nsvg.hashsalt: other\nsvg.image_inline: False\nbackend: tkagg\nfigure.hooks: a:b\n"
    )
    style = chosen(str(file), SMALL)
    assert style.settings["font.size"] == 7.0 and style.settings["figure.facecolor"] == "white"
    assert not {name for name in style.settings if name.startswith(("svg", "backend", "savefig", "figure.hooks"))}
    written = []
    for _ in range(2):
        outputs.rebuild(one, plot_style=str(file), plot_size=SMALL)
        written.append(files(one / "plots"))
    assert written[0] == written[1]
    assert pixels(written[0]["mnist_cnn-seconds.png"]) == (990, 750)


def test_what_the_project_draws_by_itself_asks_nothing_of_a_style() -> None:
    assert chosen("", None) == OWN and OWN.own
    assert not Style(size=SMALL).own


WRONG = {
    "figure.dpi: 1e9": "figure.dpi is 1000000000.0, which no picture can be drawn with",
    "figure.dpi: 3000": "figure.dpi is 3000; give 20 to 2400",
    "savefig.dpi: -1": "savefig.dpi is -1; give 20 to 2400",
    "figure.dpi: 2000": "more than 64 million pixels",
    "font.size: nan": "font.size is nan",
    "font.size: 101": "font.size is 101 points; give 1 to 100",
    "font.size: 60": "Text of 60 points does not fit into a picture of the usual size",
    "lines.linewidth: 1e30": "lines.linewidth is 1e+30",
    "text.usetex: True": "text.usetex sets text by running LaTeX",
    "font.family: No Such Font": "this machine has no font No Such Font",
    "font.size 8": "is no style file: Missing colon in line 1",
    "font.sise: 8": "is no style file: Bad key font.sise in line 1",
    "font.size: big": "is no style file: Bad value in line 1",
    "\udcff": "cannot read it: 'utf-8' codec",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_style_that_cannot_be_drawn_is_one_sentence_and_nothing_is_written(
    one: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    Path("wrong.mplstyle").write_bytes(text.encode(errors="surrogateescape"))
    before = files(one)
    said = report(capsys, "--plot-style", "wrong.mplstyle")
    assert_refused(said, WRONG[text])
    assert files(one) == before


def assert_refused(said: Said, words: str) -> None:
    assert said.status == 2 and said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("kbench: error: ") and words in line


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("style", "ggplott", "'ggplott' is neither a file nor a style of matplotlib's: did you mean ggplot?"),
        ("style", "zzz", "it knows Solarize_Light2, bmh,"),
        ("style", "http://127.0.0.1/x.mplstyle", "is neither a file nor a style"),
        ("style", ".", "cannot read it: it is not a regular file"),
        ("style", "", "--plot-style is empty"),
        ("style", "a\nb", "'a b' is neither"),
        *(
            ("size", size, "is not a width and a height from 1 to 40 inches, such as 3.3x2.5")
            for size in ("0x0", "3.3", "nanx3", "1e9x3", "41x3", "3,3x2", "infxinf", "", "3x-2", "٣x٣")
        ),
        ("size", "1x1", "Text of 6 points does not fit into 1x1 inches: give a larger --plot-size."),
    ],
)
def test_a_wrong_style_or_size_is_one_sentence_and_nothing_is_written(
    one: Path, capsys: pytest.CaptureFixture[str], option: str, value: str, words: str
) -> None:
    before = files(one)
    assert_refused(report(capsys, f"--plot-{option}={value}"), words)
    assert files(one) == before


def test_a_picture_that_takes_too_many_bytes_is_refused(one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look, "_MOST_BYTES", 1000)
    with pytest.raises(UserError, match=r"With that --plot-style a picture takes"):
        outputs.rebuild(one, plot_style="ggplot")
    assert not (one / "summary.csv").exists()


def test_a_style_too_large_to_be_one_is_not_read(one: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Path("long.mplstyle").open("wb") as file:
        file.truncate(2 << 20)
    assert_refused(report(capsys, "--plot-style", "long.mplstyle"), "it is larger than a style can be")
