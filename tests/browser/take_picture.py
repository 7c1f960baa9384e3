"""Take the README's picture of a report.html: `python tests/browser/take_picture.py PAGE PICTURE`."""

from __future__ import annotations

import sys
from pathlib import Path

import installed_browser
from playwright.sync_api import sync_playwright


def main(page_file: Path, picture: Path) -> None:
    """The top of the page, down to the end of its first section, and the charts of its largest example, as PNG."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=installed_browser.find(), args=list(installed_browser.QUIET)
        )
        page = browser.new_page(viewport={"width": 1120, "height": 800}, color_scheme="light")
        page.goto(page_file.absolute().as_uri())
        section = page.locator("main > section").first.bounding_box()
        assert section
        bottom = section["y"] + section["height"] + 16
        page.set_viewport_size({"width": 1120, "height": int(bottom)})
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
