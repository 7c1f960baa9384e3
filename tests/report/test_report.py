"""What report.html says and holds, without a browser; tests/browser has what it does in one."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_bench import Bench
from fake_runs import UNLIKE, cell, fake_run, measured, summary

from kbench import store
from kbench.analysis.summaries import summarise
from kbench.outputs import one_run
from kbench.outputs.told import ToldRun
from kbench.plots.overview import scale
from kbench.records.findings import Finding
from kbench.records.values import FAILED, OK, TIMEOUT, Measured, Outcome
from kbench.report import charts, colors, learning_text
from kbench.report.page import html
from kbench.summary import Summary
from kbench.tables.page import Run

HERE = Path(charts.__file__).parent


def page_of(cells: list[Measured], **changes: Any) -> str:
    values: dict[str, Any] = {
        "name": "mine",
        "created": "2026-11-21T00:20:50+00:00",
        "machine": "A processor",
        "provenance": {},
        "backends": {},
        "examples": {},
        "summaries": summarise(cells),
        "measured": cells,
    }
    return html([Run(**(values | changes))])


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def learnt(backend: str, accuracy: float, loss: float = 0.2, **changes: Any) -> Summary:
    return summary(backend, final_val_accuracy=accuracy, final_val_loss=loss, validation_samples=1000, **changes)


ALIKE = [learnt("keras2/cntk", 0.90), learnt("keras3/jax", 0.91), learnt("keras2/mxnet", 0.92)]


def unlike(**about: Any) -> Finding:
    own, other = {"val_accuracy": 0.8}, {"val_accuracy": 0.91}
    return Finding(kind="learning", own=own, other=other, about={"single": True, "repeats": 1, **about})


def test_a_row_that_does_not_learn_like_the_others_is_named() -> None:
    assert learning_text.learning(ALIKE) == ("Final scores are alike.", [])
    said, each = learning_text.learning([*ALIKE, learnt("keras3/torch", 0.80, findings=(unlike(single=False),))])
    assert said == "Not learning like the others: keras3/torch in mnist_cnn."
    assert each == ["keras3/torch in mnist_cnn: validation accuracy 11.0 points lower (0.8000 against 0.9100)."]


@pytest.mark.parametrize(("repeats", "trainings"), [(1, "One training:"), (3, "3 identical trainings:")])
def test_of_one_training_it_is_said_what_shows_more(repeats: int, trainings: str) -> None:
    _, (each,) = learning_text.learning([*ALIKE, learnt("keras3/torch", 0.80, findings=(unlike(repeats=repeats),))])
    assert each.endswith(f" {trainings} `--seeds 5` shows whether it is always so.")


def test_a_known_difference_of_its_backend_is_said_instead() -> None:
    known = replace(unlike(), explanation="Its Adam is its own.")
    said, (each,) = learning_text.learning([*ALIKE, learnt("keras3/torch", 0.80, findings=(known,))])
    assert said == "Not learning like the others, perhaps for a known reason: keras3/torch in mnist_cnn."
    assert each.endswith(". A known difference may be why (docs/parity.md): Its Adam is its own.")


def test_what_cannot_be_compared_is_not_said_to_learn_alike() -> None:
    assert learning_text.learning([learnt("keras2/cntk", 0.9)]) == ("", [])
    rows = [learnt("keras2/cntk", 0.9), learnt("keras3/torch", 0.1, findings=UNLIKE)]
    assert learning_text.learning(rows) == ("", [])
    assert learning_text.learning([summary(name, task="infer", final_val_accuracy=None) for name in "abc"]) == (
        "",
        [],
    )


def test_long_curves_are_thinned_with_their_ends_kept_and_the_page_says_so() -> None:
    losses = [1 / number for number in range(1, 5001)]
    cells = [measured(cell(epochs=5000), *[1.0] * 5000, val_loss=losses, val_accuracy=losses)]
    page = page_of(cells)
    (chart, _) = (one for one in data_of(page)["charts"].values() if one["kind"] == "curve")
    assert chart["title"] == "validation accuracy against epochs"
    assert len(chart["columns"]["epoch"]) == charts.MOST_POINTS
    assert [chart["columns"]["epoch"][place] for place in (0, -1)] == [1, 5000]
    assert [chart["columns"]["seconds"][place] for place in (0, -1)] == [1.0, 5000.0]
    assert "200 of 5,000 epochs of each curve are drawn." in page


def test_the_more_curves_a_page_has_the_fewer_points_each() -> None:
    assert charts.points_each(56) == charts.MOST_POINTS
    assert charts.points_each(1000) == 40
    assert charts.points_each(100_000) == 10
    assert charts.thinned(5, 10) == [0, 1, 2, 3, 4]
    assert charts.thinned(101, 3) == [0, 50, 100]


def test_a_curve_is_the_mean_of_what_ended_ok_over_the_epochs_that_all_have() -> None:
    cells = [
        measured(cell(repeat=1), 1.0, 1.0, 1.0, val_loss=[1.0, 0.8, 0.6]),
        measured(cell(repeat=2), 3.0, 3.0, val_loss=[2.0, 1.0]),
        measured(cell(repeat=3), 9.0, val_loss=9.0, status=TIMEOUT),
    ]
    first, second = charts.curve(cells, "val_loss", 200)
    assert (first.epoch, first.seconds, first.value, first.repeats) == (1, 2.0, 1.5, 2)
    assert (second.epoch, second.seconds, second.value) == (2, 4.0, 0.9)
    assert first.spread == pytest.approx(0.5**0.5)
    assert charts.curve(cells[2:], "val_loss", 200)[0].value == 9.0
    assert charts.curve([], "val_loss", 200) == []


def test_the_phases_of_a_cell_add_up_to_what_its_guest_took() -> None:
    phases = {"import": 1.0, "data": 0.5, "build": 2.0, "probe": 0.5, "first_step": 1.0, "first_epoch": 4.0}
    facts = {"guest_seconds": 20.0, "task": "train"}
    one = measured(cell(), 4.0, 2.0, 3.0, phases=phases, facts=facts, evaluation_seconds=1.0, val_loss=1.0)
    loaded = measured(cell(repeat=2), 1.0, 2.0, 3.0, phases={"import": 9.0, "first_step": 0.5}, facts=facts)
    loaded = replace(loaded, outcome=replace(loaded.outcome, compilation_cached=True))
    charts = data_of(page_of([one, loaded]))["charts"].values()
    columns = next(chart for chart in charts if chart["kind"] == "phases")["columns"]
    assert dict(zip(columns["phase"], columns["seconds"], strict=True)) == {
        "import": 1.0,
        "data": 0.5,
        "build": 2.0,
        "first prediction, step on trial": 0.5,
        "first step": 1.0,
        "rest of first epoch": 3.0,
        "steady epochs": 5.0,
        "evaluation": 3.0,
        "other": 4.0,
    }


def test_a_chart_is_there_only_where_it_shows_a_difference() -> None:
    def titles(*cells: Measured) -> list[str]:
        return [chart["title"] for chart in data_of(page_of(list(cells)))["charts"].values()]

    names = ("keras2/cntk", "keras3/jax")
    flat = [measured(cell(backend=name), 1.0, 1.0, val_loss=[0.3, 0.2], val_accuracy=0.1) for name in names]
    assert "validation loss against epochs" in titles(*flat), "the accuracy is the same everywhere"
    risen = [measured(cell(backend=name), 1.0, 1.0, val_loss=0.1, val_accuracy=[0.1, 0.5]) for name in names]
    assert "validation accuracy against epochs" in titles(*risen)
    assert not any("loss" in title for title in titles(*risen)), "one metric is enough"
    same = [measured(cell(backend=name), 1.0, 1.0, val_loss=0.3, val_accuracy=0.1, loss=0.3) for name in names]
    single = [measured(cell(backend=name), 1.0, val_loss=at, val_accuracy=at) for at, name in enumerate(names)]
    for cells in (same, single):
        assert not any("against" in title for title in titles(*cells)), "flat, or a single point each"
    assert any("seconds per epoch" in title for title in titles(*same))
    assert not any("seconds per epoch" in title for title in titles(same[0])), "a single bar"

    def of_memory(*peaks: float) -> list[str]:
        pairs = zip(names, peaks, strict=True)
        return titles(
            *(measured(cell(backend=name), 1.0, 1.0, facts={"peak_memory_mib": peak}) for name, peak in pairs)
        )

    other = {"guest_seconds": 9.0, "task": "train"}
    assert "where the time went" not in titles(measured(cell(), phases={}, facts=other)), "nobody knows where"
    assert "where the time went" in titles(measured(cell(), 1.0, 1.0, phases={}, facts=other))
    assert "peak memory" in of_memory(100.0, 200.0) and "peak memory" not in of_memory(100.0, 110.0)


def test_the_page_has_the_command_that_made_the_run_and_leads_to_each_section_and_back() -> None:
    cells = [measured(cell(example, name), 1.0, 1.0, val_loss=1.0) for example in "ab" for name in ("x/1", "x/2")]
    page = page_of(cells, provenance={"command_line": "python run.py --backends x & <y>"})
    assert "<code>python run.py --backends x &amp; &lt;y&gt;</code>" in page
    links = re.findall(r'<li><a href="#([^"]+)">', page)
    assert {"r0-matrix", "r0e0", "r0e1", "r0-conf"} <= set(links)
    assert all(f'id="{link}"' in page for link in links)
    assert page.count('href="#r0-contents"') == page.count("<section")
    assert 'id="r0-contents"' in page


def test_the_steady_times_are_bars_with_their_intervals_and_a_very_long_one_is_cut() -> None:
    cells = [
        measured(cell(backend="keras2/cntk"), 9.0, 1.0, 3.0),
        measured(cell(backend="keras3/jax"), 9.0, 4.0, 4.1),
        measured(cell(backend="keras3/torch"), 9.0, status=FAILED),
    ]
    (chart,) = [one for one in data_of(page_of(cells))["charts"].values() if one["kind"] == "times"]
    assert chart["title"] == "seconds per epoch, with 95 % intervals"
    columns = chart["columns"]
    assert columns["row"] == ["keras2/cntk", "keras3/jax"] and columns["seconds"] == [2.0, 4.05]
    assert columns["low"][0] < 1.0 and columns["high"][0] > 50
    assert chart["longest"] == pytest.approx(1.5 * 4.05)
    assert chart["thinned"] == "Intervals that end at the right edge go on."


def test_flat_and_falling_curves_are_explained_where_they_are_drawn() -> None:
    cells = [
        measured(cell(backend=name, validation_samples=50), 1.0, 1.0, 1.0, val_accuracy=[0.30, 0.2, 0.06])
        for name in ("keras2/cntk", "keras3/jax")
    ]
    said = "The validation accuracy falls after the first of 3 epochs on any backend, as far as 50 validation samples"
    assert said in page_of(cells)
    rising = measured(cell(validation_samples=50), 1.0, 1.0, 1.0, val_accuracy=[0.1, 0.5, 0.9])
    assert "as far as 50" not in page_of([*cells[1:], rising])


def test_the_answer_over_all_examples_stands_at_the_top_of_two_or_more() -> None:
    times = {"keras2/cntk": 4.0, "keras3/jax": 1.0}
    cells = [
        measured(
            cell(f"e{place}", name, repeat=repeat),
            *[times[name] * (1 + 0.001 * (place + repeat + n)) for n in range(6)],
        )
        for place in range(3)
        for name in times
        for repeat in (1, 2, 3)
    ]
    page = page_of(cells)
    assert '<p class="headline">Take keras3/jax: over these 3 examples it takes the least time (geometric ' in page
    answers = [f"e{place} trains fastest on keras3/jax" for place in range(3)]
    assert [page.count(one) for one in answers] == [1, 1, 1], "each at its example"
    assert page.index("Take keras3/jax") < page.index('<table class="matrix">') < page.index(answers[0])
    assert '<p class="overall">' not in page_of([one for one in cells if one.cell.example == "e2"])


def test_numbers_that_are_none_do_not_break_the_page() -> None:
    values = [float("nan"), 1e300, float("inf"), 1e299]
    cells = [measured(cell(repeat=number), *[1.0] * 4, val_loss=values, val_accuracy=values) for number in (1, 2)]
    (chart, _) = (one for one in data_of(page_of(cells))["charts"].values() if one["kind"] == "curve")
    assert chart["columns"]["value"] == [1e300, 1e299]


def test_generations_of_keras_and_native_backends_have_lines_of_their_own() -> None:
    names = ("keras2/tensorflow", "keras3/jax", "native/torch", "others/own")
    styles = data_of(page_of([measured(cell(backend=name), 1.0, 1.0) for name in names]))["styles"]
    assert len({tuple(style["dash"]) for style in styles}) == len(names)


def test_the_policy_allows_the_pages_own_scripts_and_nothing_else() -> None:
    page = page_of([measured(cell(), 1.0, 1.0, val_loss=1.0)])
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert len(scripts) == 6
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page)
    assert policy
    assert re.findall(r"sha256-([^&]+)&#39;", policy[1]) == hashes
    assert "sourceMappingURL" not in page
    markup = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    assert {*re.findall(r"\b(?:src|href)=\"([^#\"]*)", markup)} == {"data:,", ""}


def test_the_drawing_library_is_what_its_list_says() -> None:
    listed = (HERE / "vendor" / "README.md").read_text()
    for script in (HERE / "vendor").glob("*.js"):
        assert f"| {script.name} | {script.name.removesuffix('.min.js')} " in listed
        assert "BSD" in listed and (HERE / "vendor" / script.name.replace(".min.js", ".LICENSE")).is_file()
        assert "</script" not in script.read_text()


def test_text_is_readable_on_every_colour_and_lines_on_a_dark_ground() -> None:
    for both_sides in (False, True):
        shades = scale([1.0, 100.0, float("inf")], both_sides)
        for ratio in (0.01, 0.5, *np.geomspace(1.0, 100.0, 200), float("inf")):
            ground, ink = colors.heat(ratio, shades)
            assert colors.contrast(ground, ink) >= 4.5
    for color in ("#332288", "#882255", "#117733", "#000000", "#ffffff"):
        assert colors.contrast(colors.on_dark(color), "#14181d") >= 3
    assert colors.on_dark("#88ccee") == "#88ccee"


def test_ratios_to_a_baseline_are_shown_where_one_is_named() -> None:
    cells = [measured(cell(backend=name), seconds, seconds) for name, seconds in (("keras3/jax", 1.0), ("a/b", 2.0))]
    page = page_of(cells, summaries=summarise(cells, "a/b"))
    matrix = re.search(r"<table class=\"matrix\">.*?</table>", page, re.DOTALL)
    assert matrix and re.findall(r">([?]?\d[\d.]*)</td>", matrix[0]) == ["?0.500", "1.00"]
    assert "as a multiple of that of a/b: below 1 is faster" in page


def test_what_could_not_be_compared_has_no_colour_in_the_matrix_and_stands_in_the_headline() -> None:
    cells = [measured(cell(backend=name), seconds, seconds) for name, seconds in (("keras3/jax", 1.0), ("a/b", 99.0))]
    page = page_of(cells)
    matrix = re.search(r"<table class=\"matrix\">.*?</table>", page, re.DOTALL)
    assert matrix and re.findall(r"<td class=\"none\">([^<]*)</td>", matrix[0]) == ["?1.00", "?99.0"]
    assert '<td class="number"><span class="whole">?1.00</span></td>' in page
    assert "data-best" not in matrix[0] and "?, without a colour: could not be compared" in page
    assert 'class="headline">mnist_cnn could not be compared: one epoch each is too few' in page


def test_what_tells_two_rows_of_a_backend_apart_stands_beside_it() -> None:
    def heads(*layouts: tuple[str, str]) -> list[str]:
        rows = [measured(cell(backend=name, image_data_format=layout), 1.0, 1.0) for name, layout in layouts]
        return re.findall(r'<button type="button">([^<]*)</button></th>', page_of(rows))[:3]

    first, last = "channels_first", "channels_last"
    assert heads(("a/b", first), ("keras3/jax", last)) == ["backend", "times slower", "s/epoch"]
    assert heads(("a/b", first), ("a/b", last)) == ["backend", "channels", "times slower"]


def test_a_command_is_code_and_its_text_is_still_only_text() -> None:
    page = page_of([measured(cell(), 1.0, 1.0)], remarks=("End them, then `kbench resume '<b>'`.",))
    assert "End them, then <code>kbench resume &#39;&lt;b&gt;&#39;</code>." in page


def test_the_page_is_part_of_a_run_and_shows_the_log_of_what_failed(tmp_path: Path) -> None:
    broken = cell(backend="keras3/jax")
    failed = Outcome(FAILED, "boom", last_lines=("it <b>went</b> wrong",))
    run = fake_run(tmp_path, [(cell(), 1.0, Outcome(OK)), (broken, 1.0, failed)])
    one_run.rebuild(ToldRun(store.read(run)))
    page = (run / "report.html").read_text()
    assert "<pre" in page and "it &lt;b&gt;went&lt;/b&gt; wrong" in page
    assert "keras2/cntk was fastest." in page


def test_several_runs_go_on_one_page_where_the_user_wants_it(bench: Bench) -> None:
    for name in ("one", "two"):
        assert bench("run", "--backends", "fake", "--examples", "my_example.py", "--name", name).status == 0
    said = bench("report", "one", "two")
    assert said.status == 0
    assert "2 runs on one page: results/report.html" in said.out
    assert (bench.folder / "results" / "report.html").read_text().count('class="run"') == 2
    assert bench("report", "one", "two", "--output", "week/both.html").status == 0
    assert (bench.folder / "week" / "both.html").is_file()
    assert bench("report", "one", "two", "--output", "results").err.count("name a file with --output") == 1
    assert bench("report", "one", "--output", "x.html").status == 2


def test_commands_in_the_reasons_of_failed_cells_are_code_too() -> None:
    failed = measured(cell(), status=TIMEOUT, reason="it took too long: `--timeout 9` <gives> it more")
    page = page_of([failed], failures=[failed])
    assert "<p>it took too long: <code>--timeout 9</code> &lt;gives&gt; it more</p>" in page
