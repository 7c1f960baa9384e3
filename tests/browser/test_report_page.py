"""report.html in a real browser: it loads nothing, complains of nothing, and answers pointer and keyboard."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import take_picture
from axe_playwright_python.sync_playwright import Axe
from fake_runs import COLORS, cell
from PIL import Image
from playwright.sync_api import Page, expect
from report_pages import REFERENCE, Opener, chart, draw_all, fake_page, page_of, points, section, tooltip

from kbench import store
from kbench.analysis.times.overall import ranked
from kbench.outputs import one_run, several_runs
from kbench.outputs.one_run import report
from kbench.outputs.told import ToldRun
from kbench.tables.csv import epochs_csv

pytestmark = pytest.mark.slow("draws every chart in a browser")

MARKUP = "<script>alert(1)</script>"


def column(page: Page, example: str, number: int) -> list[str]:
    cells = section(page, example).locator(f"table.sortable tbody tr > :nth-child({number})")
    return [text.strip() for text in cells.all_inner_texts()]


def test_the_reference_page_loads_nothing_says_nothing_and_draws_every_chart(opened: Opener, reference: Path) -> None:
    page = opened(reference)
    assert abs(draw_all(page)) < 100, "a page that moves takes links away from under the pointer"
    figures = page.locator("figure[data-chart]")
    assert figures.count() >= 6 * 5 + 1
    for figure in figures.all():
        assert figure.locator("svg.marks path").count() > 5
        assert len(figure.locator(".plot").get_attribute("aria-label") or "") > 60
    assert not re.search(r"^[\d.]+e\W?\d", "\n".join(figures.locator("svg text").all_text_contents()), re.MULTILINE)
    assert page.title() == "kbench: reference"
    assert page.locator("h1").inner_text() == "reference"
    assert page.locator(".headline").inner_text().startswith("Take ")


@pytest.mark.thorough
def test_all_charts_are_drawn_without_scrolling_while_nothing_else_is_done(opened: Opener, reference: Path) -> None:
    page = opened(reference)
    expect(page.locator("figure[data-chart]:not([data-drawn])")).to_have_count(0, timeout=60_000)
    assert page.evaluate("scrollY") == 0


def test_the_page_may_reach_nothing_even_if_it_wanted_to(opened: Opener, reference: Path) -> None:
    page = opened(reference)
    blocked = page.evaluate(
        """() => new Promise((tell) => {
            addEventListener("securitypolicyviolation", (event) => tell(event.effectiveDirective));
            const script = document.createElement("script");
            script.textContent = "document.title = 'taken over'";
            document.body.append(script);
        })"""
    )
    assert blocked.startswith("script-src")
    assert page.title() == "kbench: reference"
    policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content") or ""
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src" not in policy
    opened.forget("Executing inline script")


def test_the_matrix_has_a_cell_for_every_example_and_backend(shown: Page) -> None:
    summary = pd.read_csv(REFERENCE / "summary.csv")
    matrix = shown.locator("table.matrix")
    assert matrix.locator("tbody tr").count() == summary.example.nunique()
    assert matrix.locator("tbody td").count() == len(summary)
    still_open = summary[summary.verdict == "no difference shown"].example.nunique()
    sure = summary.example.nunique() - still_open
    assert still_open and matrix.locator("td[data-best]").all_inner_texts() == ["1.00"] * sure
    assert matrix.get_by_text("unsupported").count() == (summary.status == "unsupported").sum()


def test_the_answer_and_the_whole_matrix_stand_on_the_first_screen(opened: Opener, reference: Path) -> None:
    page = opened(reference, viewport={"width": 1280, "height": 800})
    for shown in (page.locator(".headline"), page.locator("table.matrix")):
        box = shown.bounding_box()
        assert box and box["y"] + box["height"] < 800


@pytest.mark.thorough
def test_a_link_of_the_matrix_leads_to_its_example_though_charts_grow_as_they_are_drawn(
    opened: Opener, reference: Path
) -> None:
    page = opened(reference)
    for link in page.locator("table.matrix th").get_by_role("link").all()[::-3]:
        example = link.inner_text()
        heading = section(page, example).get_by_role("heading", name=example, exact=True)
        link.click()
        expect(heading).to_be_in_viewport()
        expect(section(page, example).locator("figure").first).to_have_attribute("data-drawn", "")
        expect(heading).to_be_in_viewport()


def test_a_cell_without_a_ratio_leads_to_the_reason_and_columns_stand_as_on_the_screen(
    opened: Opener, reference: Path
) -> None:
    page = opened(reference)
    assert page.locator("table.matrix td a").count() == (pd.read_csv(REFERENCE / "summary.csv").status != "ok").sum()
    page.locator("table.matrix tr", has_text="babi_rnn").get_by_role("link", name="unsupported").click()
    note = section(page, "babi_rnn").locator(".notes p:target")
    expect(note).to_be_in_viewport()
    expect(note).to_contain_text("Keras 3 cannot train on it")
    heads = [re.sub(r"[\s\u200b]", "", one) for one in page.locator("table.matrix thead th span").all_inner_texts()]
    assert heads == ranked(ToldRun(store.read(REFERENCE)).rows)


def test_what_few_look_at_is_folded(opened: Opener, reference: Path) -> None:
    page = opened(reference)
    assert page.locator("details[open]").count() == 0
    figure = page.locator("figure[data-chart=r0pc0]")
    assert not figure.is_visible()
    page.get_by_text("In which share of the examples").click()
    expect(figure).to_have_attribute("data-drawn", "")


@pytest.mark.thorough
def test_no_column_is_cut_at_1280_pixels_and_at_600_the_last_one_can_be_scrolled_to(
    opened: Opener, reference: Path
) -> None:
    page = opened(reference, viewport={"width": 1280, "height": 800})
    wider = "tables => tables.filter(one => one.scrollWidth > one.clientWidth).map(one => one.ariaLabel)"
    assert page.locator(".scroll").evaluate_all(wider) == []
    page.set_viewport_size({"width": 600, "height": 800})
    status = section(page, "babi_rnn").get_by_text("unsupported").last
    status.scroll_into_view_if_needed()
    box = status.bounding_box()
    assert box and box["x"] + box["width"] <= 600


def means(example: str) -> pd.DataFrame:
    """The points of an example's curves: a row for each backend and epoch, the means of its repeats."""
    read = io.StringIO(epochs_csv(store.read(REFERENCE).measured))
    epochs = pd.read_csv(read).query("example == @example").copy()
    epochs["passed"] = epochs.groupby(["backend", "repeat"]).seconds.cumsum()
    epochs.loc[(epochs.backend == "keras3/jax") & (epochs.repeat > 1), "passed"] = float("nan")  # not compiled
    return epochs.groupby(["backend", "epoch"], as_index=False)[["val_accuracy", "val_loss", "passed"]].mean()


@pytest.mark.parametrize("axis", [pytest.param("epochs", marks=pytest.mark.thorough), "seconds"])
def test_tooltips_give_the_values_of_the_csv(shown: Page, axis: str) -> None:
    rows = means("mnist_cnn")
    marks = points(chart(shown, "mnist_cnn", f"validation accuracy against {axis}"))
    assert marks.count() == len(rows)
    for place in range(0, marks.count(), 4):
        told = tooltip(shown, marks.nth(place))
        (row,) = rows[(rows.backend == told["backend"]) & (rows.epoch == int(told["epoch"]))].itertuples()
        assert told["validation accuracy"] == f"{row.val_accuracy:.4f}"
        assert float(told["training time (s)"]) == pytest.approx(row.passed, rel=1e-3)


@pytest.mark.thorough
def test_each_bar_of_where_the_time_went_starts_at_zero_and_every_part_has_a_colour(shown: Page) -> None:
    figure = chart(shown, "mnist_mlp", "where the time went")
    # Asked all at once: each question to the browser takes milliseconds.
    look = "bars => bars.map(bar => [bar.getBoundingClientRect().toJSON(), bar.getAttribute('fill')])"
    bars = figure.locator("g.mark-rect.role-mark path").evaluate_all(look)
    starts: dict[int, float] = {}
    for box, _ in bars:
        if box["height"]:
            line = round(box["y"])
            starts[line] = min(starts.get(line, box["x"]), box["x"])
    assert len(starts) == 8 and max(starts.values()) - min(starts.values()) < 2
    parts = figure.locator(".legend li").all_inner_texts()
    assert "first prediction, step on trial" in parts
    assert len({fill for _, fill in bars}) == len(parts)


def test_axes_of_time_are_in_s_or_ms_as_people_write_them(opened: Opener, tmp_path: Path, shown: Page) -> None:
    def labels(page: Page, title: str) -> list[str]:
        found = chart(page, "mnist_mlp", title).locator("g.role-axis-label text").all_text_contents()
        return [one for one in found if one and one[0].isdigit()]

    assert labels(shown, "seconds per epoch") == ["0", "0.5 s", "1 s", "1.5 s"]
    assert labels(shown, "where the time went") == ["0", "5 s", "10 s", "15 s"]
    assert "12 s" in labels(shown, "against seconds")
    cells = [cell(example="mnist_mlp", backend=name) for name in ("keras2/cntk", "keras3/jax")]
    assert {"0", "200 ms", "600 ms"} <= set(labels(opened(fake_page(tmp_path, cells)), "seconds per epoch"))


def test_the_values_stand_in_a_table_for_those_who_do_not_point(shown: Page) -> None:
    rows = means("imdb_gru")
    values = section(shown, "imdb_gru").locator("details.values")
    values.locator("summary").focus()
    shown.keyboard.press("Enter")
    expect(values.locator("caption")).to_have_text(
        ["seconds per epoch, with 95 % intervals", "where the time went", "peak memory", "validation accuracy"]
    )
    lines = values.locator("table").filter(has_text="validation accuracy").locator("tbody tr")
    expect(lines).to_have_count(len(rows))
    cells = [line.split("\t") for line in lines.all_inner_texts()]
    told = {(backend, int(epoch)): float(value) for backend, epoch, _, value, *_ in cells}
    row: Any
    for row in rows.itertuples():
        assert told[row.backend, row.epoch] == pytest.approx(row.val_accuracy, rel=1e-6)


def test_a_backend_is_toggled_in_all_charts_of_the_page_at_once(shown: Page) -> None:
    epochs = means("mnist_mlp")
    own = chart(shown, "mnist_mlp", "validation accuracy against seconds")
    bars = chart(shown, "mnist_mlp", "where the time went").locator("g.mark-rect path")
    other = chart(shown, "mnist_cnn", "validation accuracy against seconds")
    all_bars = bars.count()
    box = shown.get_by_role("checkbox", name="keras3/jax")
    box.uncheck()
    expect(points(own)).to_have_count(sum(epochs.backend != "keras3/jax"))
    expect(bars).not_to_have_count(all_bars)
    assert bars.count() < all_bars
    expect(points(other)).to_have_count(sum(means("mnist_cnn").backend != "keras3/jax"))
    shown.get_by_role("button", name="none", exact=True).click()
    expect(points(own)).to_have_count(0)
    box.focus()
    shown.keyboard.press("Space")
    expect(points(own)).to_have_count(sum(epochs.backend == "keras3/jax"))
    shown.get_by_role("button", name="all", exact=True).click()
    expect(points(own)).to_have_count(len(epochs))


def test_tables_sort_by_pointer_and_keyboard_and_keep_what_is_missing_last(shown: Page) -> None:
    table = section(shown, "mnist_cnn").locator("table.sortable")
    names = [text.split("\n")[0].strip() for text in table.locator("thead th").all_inner_texts()]
    number = names.index("first epoch (s)") + 1
    header = table.locator(f"thead th:nth-child({number})")
    for press, direction in ((False, "ascending"), (True, "descending")):
        button = header.get_by_role("button")
        button.focus()
        shown.keyboard.press("Enter") if press else button.click()
        expect(header).to_have_attribute("aria-sort", direction)
        values = column(shown, "mnist_cnn", number)
        assert values[-1] == "-"
        numbers = [float(value.replace(",", "")) for value in values[:-1]]
        assert len(numbers) == 8 and numbers == sorted(numbers, reverse=direction == "descending")
    table.locator("thead th:nth-child(1)").get_by_role("button").click()
    assert column(shown, "mnist_cnn", 1) == sorted(column(shown, "mnist_cnn", 1))
    assert header.get_attribute("aria-sort") is None


def test_each_table_can_be_taken_along_as_it_stands(shown: Page) -> None:
    shown.context.grant_permissions(["clipboard-read", "clipboard-write"])
    of_example = section(shown, "mnist_cnn")
    names = column(shown, "mnist_cnn", 1)
    of_example.get_by_role("button", name="Copy as Markdown").click()
    expect(of_example.get_by_role("status")).to_have_text("Copied")
    lines = shown.evaluate("navigator.clipboard.readText()").splitlines()
    assert lines[0].startswith("| backend | times slower | verdict | s/epoch |") and set(lines[1]) <= set("| -:")
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines[2:]] == names
    with shown.expect_download() as downloading:
        of_example.get_by_role("button", name="Save as CSV").click()
    assert downloading.value.suggested_filename == "reference-Table-of-mnist_cnn.csv"
    table = pd.read_csv(downloading.value.path())
    assert table.backend.tolist() == names
    assert table["samples/s"].dropna().gt(100).all() and table["s/epoch"].isna().sum() == 1
    matrix = shown.locator(".table").filter(has=shown.locator("table.matrix"))
    assert shown.locator(".taken").count() == shown.locator(".table").count() > 10
    matrix.get_by_role("button", name="Copy as Markdown").click()
    expect(matrix.get_by_role("status")).to_have_text("Copied")
    assert "| keras2/cntk | keras2/mxnet |" in shown.evaluate("navigator.clipboard.readText()")


def test_the_command_of_the_run_is_copied_and_the_contents_lead_there_and_back(shown: Page) -> None:
    shown.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown.get_by_role("button", name="Copy the command").click()
    expect(shown.locator(".command").get_by_role("status")).to_have_text("Copied")
    copied = shown.evaluate("navigator.clipboard.readText()")
    assert copied == "python run.py --backends all --repeats 3 --name reference"
    contents = shown.get_by_role("navigation", name="Contents")
    contents.get_by_role("link", name="mnist_mlp").click()
    expect(shown.get_by_role("heading", name="mnist_mlp", exact=True)).to_be_in_viewport()
    section(shown, "mnist_mlp").get_by_role("link", name="↑ Contents").click()
    expect(contents).to_be_in_viewport()


@pytest.mark.thorough
def test_repeats_are_a_mean_with_its_spread_and_memory_is_drawn(opened: Opener, tmp_path: Path) -> None:
    cells = [cell(backend=name, repeat=number) for name in ("keras2/cntk", "keras3/jax") for number in (1, 2, 3)]
    page_file = fake_page(tmp_path, cells)
    page = opened(page_file)
    one_run.rebuild(ToldRun(store.read(page_file.parent)))
    rows = pd.read_csv(page_file.parent / "epochs.csv")
    told = tooltip(page, points(chart(page, "mnist_cnn", "validation accuracy against epochs")).nth(0))
    own = rows[(rows.backend == told["backend"]) & (rows.epoch == int(told["epoch"]))].val_accuracy
    assert told["repeats"] == "3"
    assert float(told["validation accuracy"]) == pytest.approx(own.mean(), rel=1e-3)
    assert float(told["± sd"]) == pytest.approx(own.std(), rel=0.05)
    assert chart(page, "mnist_cnn", "validation accuracy against epochs").locator("g.mark-area path").count() == 2
    memory = chart(page, "mnist_cnn", "peak memory").locator(".plot").get_attribute("aria-label")
    assert memory and "keras3/jax 3,000 MiB" in memory


def test_names_and_logs_that_are_markup_stay_text(opened: Opener, tmp_path: Path) -> None:
    cells = [cell(example=MARKUP, backend=name) for name in (f"keras2/{MARKUP}", "keras3/jax", "keras3/torch")]
    log = f"\x1b[31m  {MARKUP}\x1b[0m\n</pre>{MARKUP}\n"
    told = {"command_line": MARKUP, "environments": {MARKUP: {"packages": [MARKUP]}}}
    page = opened(fake_page(tmp_path, cells, "keras3/torch", log, told))
    assert page.locator("section.example h2").inner_text() == MARKUP
    assert page.locator(".toggles label").first.inner_text().strip() == f"keras2/{MARKUP}"
    shown = page.locator("pre").text_content() or ""
    assert shown.splitlines() == [MARKUP, f"</pre>{MARKUP}"]
    assert tooltip(page, points(chart(page, MARKUP, "validation accuracy against epochs")).nth(0))["backend"]
    assert page.locator("body script:not([type])").count() == 6


@pytest.mark.thorough
def test_scaling_lines_are_drawn_toggled_and_told_under_the_pointer(opened: Opener, tmp_path: Path) -> None:
    backends = ("keras2/cntk", "keras3/jax")
    cells = [[cell(backend=name, batch_size=size) for name in backends] for size in (32, 64, 128)]
    runs = [fake_page(tmp_path / str(place), some).parent for place, some in enumerate(cells)]
    pictures, _ = several_runs.write_page(tmp_path / "report.html", [ToldRun(store.read(run)) for run in runs])
    assert len(pictures) == 2
    page = opened(tmp_path / "report.html")
    page.get_by_role("link", name="Scaling over the 3 runs").click()
    figure, memory = page.locator("#scaling figure").all()
    memory.scroll_into_view_if_needed()
    expect(points(memory)).to_have_count(6)
    figure.scroll_into_view_if_needed()
    expect(figure).to_have_attribute("data-drawn", "")
    expect(points(figure)).to_have_count(6)
    told = tooltip(page, points(figure).nth(0))
    assert told["backend"] in backends and told["batch size"] == "32"
    assert float(told["at least"].replace(",", "")) <= float(told["samples/s"].replace(",", ""))
    page.get_by_role("checkbox", name="keras3/jax").uncheck()
    expect(points(figure)).to_have_count(3)
    page.locator("#scaling summary").click()
    expect(page.locator("#scaling details table")).to_have_count(2)
    expect(page.locator("#scaling details tbody tr")).to_have_count(12)
    found = Axe().run(page).response["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []


def test_several_runs_stand_on_one_page_under_their_names(opened: Opener, tmp_path: Path) -> None:
    first, second = (fake_page(tmp_path / name, [cell(), cell(backend="keras3/jax")]).parent for name in "ab")
    read = [store.read(run) for run in (first, second)]
    together = tmp_path / "report.html"
    together.write_bytes(report(map(ToldRun, read)))
    page = opened(together)
    assert page.locator("header.run").count() == 2
    boxes = page.get_by_role("checkbox", name="keras3/jax")
    assert boxes.count() == 1, "one for the whole page"
    boxes.uncheck()
    title = page.locator("figcaption", has_text="validation accuracy against epochs")
    figures = page.locator("figure").filter(has=title)
    draw_all(page)
    for number in (0, 1):
        expect(points(figures.nth(number))).to_have_count(3)


@pytest.mark.thorough
def test_eight_backends_seven_examples_three_repeats_are_under_five_megabytes(opened: Opener, tmp_path: Path) -> None:
    cells = [
        cell(example=f"example_{number}", backend=name, repeat=repeat, epochs=50)
        for number in range(7)
        for name in COLORS
        for repeat in (1, 2, 3)
    ]
    page_file = fake_page(tmp_path, cells)
    assert page_file.stat().st_size < 5_000_000
    page = opened(page_file)
    assert page.locator("section.example figure[data-chart]").count() >= 7 * 4
    page.get_by_text("In which share of the examples").click()
    page.locator("figure[data-chart=r0pc0]").scroll_into_view_if_needed()
    expect(page.locator("figure[data-chart=r0pc0]")).to_have_attribute("data-drawn", "")
    assert points(chart(page, "example_6", "validation accuracy against epochs")).count() == 8 * 50


def test_the_page_of_the_reference_run_is_under_five_megabytes(reference: Path) -> None:
    assert reference.stat().st_size < 5_000_000
    assert page_of(reference.parent).read_bytes() == reference.read_bytes()


def test_the_readmes_picture_shows_the_page_as_it_is(reference: Path) -> None:
    with Image.open(take_picture.PICTURE) as picture:
        made_from = picture.info[take_picture.MADE_FROM]
    assert made_from == take_picture.made_from(reference), take_picture.__doc__
