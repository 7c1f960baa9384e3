"""coverage.html in a real browser: searched, opened and copied, by pointer and keyboard, on a phone, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from report_pages import Opener

from kbench.features.coverage import page as coverage_page
from kbench.features.coverage.page import About
from kbench.features.coverage.values import STATES, CaseResult, NameResult, ProbeCase

MARKUP = "<script>alert(1)</script>"
PHONE = {"viewport": {"width": 390, "height": 844}}
BACKENDS = ("keras3/jax", "keras3/tensorflow", "keras3/torch")


def row(name: str, backend: str, state: str, sentence: str = "", known: str = "") -> NameResult:
    case = ProbeCase(0, name, {"units": 3}, ("vectors",))
    one = CaseResult(case, backend, state, sentence, 0.5, "keras3/numpy", "vectors", known=known)
    return NameResult(name, backend, state, (one,))


def written(folder: Path, **about: Any) -> Path:
    """A page with a name of each state, and one that works everywhere."""
    rows = [row("layers.Dense", backend, "same") for backend in BACKENDS]
    for number, state in enumerate(STATES):
        name = f"layers.ConvolutionWithALongName{number}"
        rows += [row(name, backend, "same") for backend in BACKENDS[:2]]
        rows.append(row(name, BACKENDS[2], state, MARKUP if state == "raises" else "", "Ties" * (state == "differs")))
    page = folder / "coverage.html"
    page.write_text(coverage_page.page(About("mine", **about), rows, dict.fromkeys(BACKENDS, "torch")), "utf-8")
    return page


def names(page: Page) -> list[str]:
    return [one.replace("layers.", "") for one in page.locator("tr[data-name]:visible th").all_inner_texts()]


def test_the_answer_comes_first_then_what_is_wrong(opened: Opener, tmp_path: Path) -> None:
    page = opened(written(tmp_path, left=7, compared=["From old to new: 1 broke."]))
    answers = page.locator(".answers li").all_inner_texts()
    assert answers[0] == "keras3/jax: 10 of 10 names work."
    assert answers[2].startswith("keras3/torch: 3 of 8 names work.") and "1 crashes" in answers[2]
    assert page.locator(".note").all_inner_texts() == [
        "7 cases are not tried yet: resume goes on.",
        "From old to new: 1 broke.",
    ]
    assert len(names(page)) == 4, "crashes, hangs, differs, raises"
    expect(page.locator("#shown")).to_have_text("4 of 10 names")
    page.locator(".kinds summary").click()
    here, of_2018 = ["layers", "10 of 10", "10 of 10", "3 of 8"], ["64", "28", "20", "25", "90"]
    assert page.locator(".kinds tbody").inner_text().split("\t") == [*here, *of_2018]
    assert page.locator(".kinds thead").inner_text().split("\t")[4:6] == ["Caffe2 in 2018", "Chainer in 2018"]


def test_names_are_found_by_name_by_state_and_by_backend(opened: Opener, tmp_path: Path) -> None:
    page = opened(written(tmp_path))
    page.get_by_label("Find").fill("dense")
    assert names(page) == ["Dense"], "whoever searches means all names"
    page.get_by_label("Find").fill("")
    page.get_by_label("with the state").select_option("crashes")
    assert names(page) == ["ConvolutionWithALongName0"]
    page.get_by_label("on the backend").select_option("keras3/jax")
    assert names(page) == []
    expect(page.locator("#shown")).to_have_text("0 of 10 names")
    page.get_by_role("button", name="1 raises").click()
    assert names(page) == ["ConvolutionWithALongName3"]
    page.get_by_label("Find").fill("Dense")
    assert names(page) == [], "a state that was chosen stays"


def test_a_cell_opens_its_program_which_is_copied(opened: Opener, tmp_path: Path) -> None:
    page = opened(written(tmp_path, docs="../docs/parity.md#what-is-known"))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    cell = page.get_by_role("button", name="differs", exact=True)
    cell.focus()
    page.keyboard.press("Enter")
    expect(cell).to_have_attribute("aria-expanded", "true")
    shown = page.locator(".program:visible")
    expect(shown).to_have_count(1)
    assert "differs from keras3/numpy: by 0.500. A known difference may be why (docs/parity.md): Ties." in (
        shown.inner_text()
    )
    link = shown.get_by_role("link", name="docs/parity.md")
    assert link.get_attribute("href") == "../docs/parity.md#what-is-known"
    shown.get_by_role("button", name="Copy the program").click()
    expect(shown.get_by_role("status")).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith('import os; os.environ["KERAS_BACKEND"] = "torch"\n')
    compile(copied, "copied", "exec")
    cell.click()
    expect(page.locator(".program:visible")).to_have_count(0)
    raises = page.get_by_role("button", name="raises", exact=True)
    raises.click()
    assert MARKUP in page.locator(".program:visible").inner_text()


@pytest.mark.parametrize(
    "how",
    [{}, pytest.param({**PHONE, "color_scheme": "dark"}, marks=pytest.mark.thorough)],
    ids=["light", "dark-phone"],
)
def test_an_accessibility_checker_finds_no_serious_fault(opened: Opener, tmp_path: Path, how: dict[str, Any]) -> None:
    page = opened(written(tmp_path, left=7, docs="x"), **how)
    page.get_by_label("with the state").select_option("")
    page.locator(".kinds summary").click()
    for button in page.locator("button[aria-expanded]").all():
        button.click()
    found = Axe().run(page).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["help"], one["nodes"][0]["html"][:300]) for one in serious] == []


def test_a_phone_scrolls_the_matrix_and_not_the_page(opened: Opener, tmp_path: Path) -> None:
    page = opened(written(tmp_path), **PHONE)
    page.get_by_role("button", name="differs", exact=True).click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = page.locator(".program:visible").bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ground) != light
