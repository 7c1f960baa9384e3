"""Pages for the browser's tests, and how a page is opened and watched."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fake_runs import learning, plan, write_events
from playwright.sync_api import Browser, BrowserContext, Dialog, Locator, Page, expect

from kbench import store
from kbench.outputs.one_run import report
from kbench.outputs.told import ToldRun
from kbench.records.values import FAILED, OK, Cell, Outcome

CHECKOUT = Path(__file__).resolve().parent.parent.parent
REFERENCE = CHECKOUT / "results" / "reference"
# How the browser is started. Root, as in a container, needs --no-sandbox; the others keep it from calling home.
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def page_of(run: Path) -> Path:
    """Make the run's report.html, and nothing else that takes long."""
    read = store.read(run)
    page = run / "report.html"
    page.write_bytes(report([ToldRun(read)]))
    return page


def reference_page(folder: Path) -> Path:
    shutil.copytree(store.raw_folder(REFERENCE), folder / "reference")
    return page_of(folder / "reference")


def fake_page(parent: Path, cells: Iterable[Cell], failing: str = "", log: str = "", provenance: Any = None) -> Path:
    """The page of a run of cells that learn; those on the backend `failing` fail with that log."""
    planned = list(cells)
    run = store.create(parent, plan(planned), provenance or {})
    for place, one in enumerate(planned, 1):
        fails = one.backend == failing
        seconds = 0.5 + 0.1 * place
        told = [*learning(one, seconds)[:-1], {"event": "memory", "at": "import", "peak_mib": 300.0}]
        told += [{"event": "memory", "at": "end", "peak_mib": 500.0 * (1 + place)}, {"event": "end", "seconds": 30.0}]
        write_events(run, one, [] if fails else told)
        failed = Outcome(FAILED, "it broke", last_lines=tuple(log.splitlines()))
        store.write_outcome(run, one, failed if fails else Outcome(OK))
    return page_of(run)


def draw_all(page: Page) -> int:
    """Have all charts drawn, as before printing; returns by how many pixels that makes the page longer."""
    height = "document.documentElement.scrollHeight"
    before: int = page.evaluate(height)
    page.evaluate("['beforeprint', 'afterprint'].forEach((one) => dispatchEvent(new Event(one)))")
    page.wait_for_function("!document.querySelector('figure[data-chart]:not([data-drawn])')")
    return page.evaluate(height) - before  # type: ignore[no-any-return]


def section(page: Page, example: str) -> Locator:
    return page.locator("section.example").filter(has=page.get_by_role("heading", name=example, exact=True))


def chart(page: Page, example: str, title: str) -> Locator:
    """The chart, once it has come into view and is drawn."""
    figure = section(page, example).locator("figure").filter(has=page.locator("figcaption", has_text=title))
    figure.scroll_into_view_if_needed()
    expect(figure).to_have_attribute("data-drawn", "")
    return figure


def points(figure: Locator) -> Locator:
    return figure.locator("g.mark-symbol path")


def tooltip(page: Page, mark: Locator) -> dict[str, str]:
    """What is told under the pointer, once it stands on the mark."""
    mark.scroll_into_view_if_needed()
    box = mark.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    shown = page.locator("#vg-tooltip-element.visible")
    expect(shown).to_be_visible()
    lines = [line.split("\t") for line in shown.locator("tr").all_inner_texts()]
    return {name.strip().rstrip(":"): value.strip() for name, value in lines}


class Opener:
    """Opens pages; closing it fails the test where one of them complained or asked for anything."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self._said: list[str] = []

    def __call__(self, page: Path, **how: Any) -> Page:
        """The page; its charts are drawn as they come into view. `how` is Playwright's: viewport, ..."""
        context = self._browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **how})
        self._contexts.append(context)
        opened = context.new_page()
        own = page.as_uri()
        opened.on("console", lambda message: self._said.append(f"{message.type}: {message.text}"))
        opened.on("pageerror", lambda error: self._said.append(str(error)))
        opened.on("dialog", self._dismiss)
        opened.on("request", lambda request: self._asks_for(request.url, own))
        opened.goto(own)
        return opened

    def _dismiss(self, dialog: Dialog) -> None:
        self._said.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _asks_for(self, address: str, own: str) -> None:
        if address != own:
            self._said.append(f"asks for {address}")

    def forget(self, what: str) -> None:
        """Leave out the complaints, at least one, that hold these words: the test has provoked them."""
        provoked = [said for said in self._said if what in said]
        assert provoked
        self._said = [said for said in self._said if said not in provoked]

    def said_nothing(self) -> None:
        assert self._said == []

    def close(self) -> None:
        for context in self._contexts:
            context.close()
        self.said_nothing()
