"""A real browser for the tests of report.html: the one that this machine has, without a window or a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import installed_browser
import pytest
from playwright.sync_api import Browser, sync_playwright
from report_pages import Opener, reference_page


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    try:
        executable = installed_browser.find()
    except FileNotFoundError as error:
        pytest.fail(str(error), pytrace=False)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=executable, args=list(installed_browser.QUIET))
        yield started
        started.close()


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the committed reference run, made anew from its raw files."""
    return reference_page(tmp_path_factory.mktemp("reference"))


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opener]:
    """Opens pages, and fails the test where one of them complained or asked for anything."""
    opener = Opener(browser)
    yield opener
    opener.close()
