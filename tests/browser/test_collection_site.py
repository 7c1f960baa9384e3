"""The pages of a collection in a real browser: from a file, on a phone, too, and without asking for anything."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from report_pages import CHECKOUT, Opener

from kbench.features.collection import collection, site


@pytest.mark.slow("it reads the reference run")
def test_a_reader_finds_the_fastest_and_the_run_behind_it_at_two_widths(opened: Opener, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    shutil.copy(CHECKOUT / "results" / "reference.kbench.zip", tmp_path / "runs")
    (tmp_path / "collection.toml").write_text('title = "Ours"\nkbench = ["0.1.0"]\n')
    assert site.write(collection.read(tmp_path), tmp_path / "out") == []
    for width in (390, 1280):
        page = opened(tmp_path / "out" / "index.html", viewport={"width": width, "height": 844})
        assert page.locator("h1").inner_text() == "Ours"
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert Axe().run(page).response["violations"] == []
        page.locator(".machines a").first.click()
        assert page.locator("h1").inner_text() == "reference"
        opened.forget("asks for file:")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert Axe().run(page).response["violations"] == []
