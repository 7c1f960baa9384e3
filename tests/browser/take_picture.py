"""Takes the README's picture of the reference run's page anew: `python run.py test tests/browser/take_picture.py`.

Its name keeps it out of the whole suite.
"""

from __future__ import annotations

import hashlib
from io import BytesIO
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Browser

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "report.png"
MADE_FROM = "made from"  # in the picture's file: the hash of what it shows


def made_from(page: Path) -> str:
    """The hash of what the picture shows: the style, and the page down to the end of its first section."""
    shown, end, _ = page.read_text("utf-8").partition("</section>")
    assert end
    return hashlib.sha256(shown.partition("<style>")[2].encode()).hexdigest()


def test_take_it(browser: Browser, reference: Path) -> None:
    page = browser.new_page(viewport={"width": 1120, "height": 800}, color_scheme="light")
    page.goto(reference.as_uri())
    section = page.locator("main > section").first.bounding_box()
    assert section
    page.set_viewport_size({"width": 1120, "height": int(section["y"] + section["height"] + 16)})
    image = Image.open(BytesIO(page.screenshot()))
    page.close()
    about = PngInfo()
    about.add_text(MADE_FROM, made_from(reference))
    image.save(PICTURE, pnginfo=about, optimize=True)
