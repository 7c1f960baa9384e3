"""report.html on a phone, on paper, on a dark ground, and for those who do not see it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from report_pages import Opener, chart, draw_all, section

from kbench.base import paths
from kbench.selection import backends

pytestmark = pytest.mark.slow("draws every chart in a browser")

PHONE = {"viewport": {"width": 390, "height": 844}}


@pytest.mark.thorough
def test_a_table_wider_than_a_phone_says_that_it_scrolls(opened: Opener, reference: Path) -> None:
    page = opened(reference, **PHONE)
    area = page.get_by_role("region", name="Matrix of reference")
    expect(area).to_have_attribute("data-more", "right")
    area.evaluate("area => area.scrollTo(10000, 0)")
    expect(area).to_have_attribute("data-more", "left")
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(area).to_have_attribute("data-more", "")


@pytest.mark.thorough  # by default that of a coverage run, whose page has the same style
@pytest.mark.parametrize("how", [{}, {**PHONE, "color_scheme": "dark"}], ids=["light", "dark-phone"])
def test_an_accessibility_checker_finds_no_serious_fault(
    opened: Opener, reference: Path, how: dict[str, Any]
) -> None:
    page = opened(reference, **how)
    section(page, "mnist_cnn").locator("details.values summary").click()
    draw_all(page)
    # The other sections and rows are made alike: to look at each takes three times as long.
    sections = f"section.example:not(#{section(page, 'mnist_cnn').get_attribute('id')})"
    left_out = {"exclude": [[sections], [".values tbody tr:nth-child(n+4)"]]}
    found = Axe().run(page, context=left_out).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["help"], one["nodes"][0]["html"][:300]) for one in serious] == []


@pytest.mark.thorough
def test_a_phone_scrolls_tables_and_not_the_page(opened: Opener, reference: Path) -> None:
    page = opened(reference, **PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    chart(page, "mnist_cnn", "where the time went")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_phone_shows_how_many_times_slower_and_the_verdict_without_scrolling(
    opened: Opener, reference: Path
) -> None:
    page = opened(reference, **PHONE)
    table = section(page, "mnist_cnn").locator("table.sortable")
    heads = [text.strip() for text in table.locator("thead th").all_inner_texts()]
    assert heads[:4] == ["backend", "times slower", "verdict", "s/epoch"]
    for verdict in table.locator("tr > :nth-child(3)").all():
        box = verdict.bounding_box()
        assert box and box["x"] + box["width"] <= 390 - 16, "where the edge fades"
        assert box["height"] < 80


@pytest.mark.thorough
def test_dark_and_light_have_the_colours_of_the_backends_files(opened: Opener, reference: Path) -> None:
    known = backends.load_all(paths.project_folder("backends"))
    page = opened(reference)
    for label in page.locator(".toggles label").all():
        color = label.locator(".swatch .stroke").evaluate("path => getComputedStyle(path).stroke")
        red, green, blue = map(int, re.findall(r"\d+", color))
        assert f"#{red:02x}{green:02x}{blue:02x}" == known[label.inner_text().strip()].color.lower()
    lines = chart(page, "mnist_cnn", "validation accuracy against epochs").locator("g.mark-line path")
    strokes = "paths => paths.map(path => getComputedStyle(path).stroke)"
    light = lines.evaluate_all(strokes)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != ground
    assert lines.evaluate_all(strokes) != light


@pytest.mark.thorough
def test_printing_draws_all_charts_on_light_paper(opened: Opener, reference: Path) -> None:
    page = opened(reference, color_scheme="dark")
    folded = page.locator("details[data-print]:not([open])")
    before = folded.count()
    page.evaluate(
        """addEventListener("beforeprint", () => {
            window.folded = document.querySelectorAll("details[data-print]:not([open])").length;
        })"""
    )
    page.pdf()
    assert page.locator("figure[data-chart]:not([data-drawn])").count() == 0
    assert page.evaluate("window.folded") == 0, "paper has no folds"
    assert folded.count() == before > 5
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.set_viewport_size({"width": 690, "height": 1000})  # A4 within its margins
    tables = page.locator("section.example table.sortable")
    assert all(box["x"] + box["width"] <= 690 for one in tables.all() if (box := one.bounding_box()))
    assert not page.locator(".toggles button").first.is_visible()
    assert page.locator(".toggles .swatch").first.is_visible()
