"""A real browser for the tests of report.html: the one that this machine has, without a window or a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import left_out
import pytest
from playwright.sync_api import Browser, Error, Page, sync_playwright
from report_pages import QUIET, Opener, reference_page

from kbench.bootstrap.browser import WANTED, find


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    executable = find()
    if not executable:
        left_out.skip(f"The tests of report.html need a browser: {WANTED}.")
    with sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=executable, args=QUIET)
        except Error as error:  # such as a stand-in that only tells how to install it
            left_out.skip(f"The browser {executable} does not start ({error.message.splitlines()[0]}): {WANTED}.")
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


@pytest.fixture(scope="module")
def opened_once(browser: Browser, reference: Path) -> Iterator[tuple[Opener, Page]]:
    opener = Opener(browser)
    yield opener, opener(reference)
    opener.close()


@pytest.fixture
def shown(opened_once: tuple[Opener, Page]) -> Iterator[Page]:
    """The reference page as other tests have left it: none changes its width, its colours or its backends."""
    opener, page = opened_once
    page.mouse.move(0, 0)
    yield page
    opener.said_nothing()
