"""The documentation is short, and the tests that it names as proof are there."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
PAGES = [*sorted((CHECKOUT / "docs").glob("*.md")), *sorted(CHECKOUT.glob("*.md"))]
FILES = {path.relative_to(CHECKOUT).as_posix() for path in (CHECKOUT / "tests").rglob("*.py")}
FOLDERS = {f"{Path(file).parent.as_posix()}/" for file in FILES}
FUNCTIONS = {
    name
    for file in FILES
    for name in re.findall(r"^def (test_\w+)\(", (CHECKOUT / file).read_text(encoding="utf-8"), re.MULTILINE)
}


def missing(text: str) -> list[str]:
    """The names of tests, of their files and of their folders that lead to nothing; `...` stands for anything."""
    found = []
    for name in re.findall(r"`((?:tests/|test_)[^`\s]*)`", text):
        if name.startswith("tests/") or name.endswith(".py"):
            there = f"{name.rstrip('/')}/" in FOLDERS or any(f"/{file}".endswith(f"/{name}") for file in FILES)
        else:
            there = any(fnmatch(one, name.replace("...", "*")) for one in FUNCTIONS)
        found += [] if there else [name]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_test_that_a_page_names_is_there(page: Path) -> None:
    assert missing(page.read_text(encoding="utf-8")) == []


def test_a_name_that_no_test_has_is_found() -> None:
    assert missing("`test_docs.py`, `tests/test_docs.py`, `tests/faults/`: `test_every_test_...`") == []
    names = ["test_of_nothing_at_all", "test_of_nothing_...", "tests/nowhere/", "test_nowhere.py"]
    assert missing(", ".join(f"`{name}`" for name in names)) == names


def test_the_audit_has_each_rebuilt_mistake_with_a_sentence_that_is_said_of_it() -> None:
    folder = CHECKOUT / "tests" / "audit"
    said = re.split(r"^\[(\w+/\w+)\]", (folder / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    sentences = dict(zip(said[1::2], said[2::2], strict=True))
    page = (CHECKOUT / "docs" / "audit.md").read_text(encoding="utf-8")
    quoted = {name: text for text, name in re.findall(r"\[([^]]+)\]\(\.\./tests/audit/(\w+/\w+)\.py\)", page)}
    assert set(quoted) == set(sentences) == {f"{file.parent.name}/{file.stem}" for file in folder.glob("*/*.py")}
    assert [name for name, text in quoted.items() if text not in sentences[name]] == []


def test_the_page_of_twins_lists_those_that_are_there() -> None:
    page = (CHECKOUT / "examples_models" / "native" / "README.md").read_text(encoding="utf-8")
    table = page.partition("| example | has a twin on |\n| --- | --- |\n")[2].partition("\n\n")[0]
    listed: dict[str, set[str]] = {}
    for line in table.splitlines():
        examples, _, where = line.strip("| ").partition(" | ")
        listed.update({key: set(re.findall(r"`native/([\w-]+)`", where)) for key in examples.split(", ")})
    there: dict[str, set[str]] = {}
    for path in (CHECKOUT / "examples_models" / "native").glob("*/*.py"):
        there.setdefault(path.stem, set()).add(path.parent.name)
    everywhere = {path.name for path in (CHECKOUT / "examples_models" / "native").iterdir() if path.is_dir()}
    assert {example: names or everywhere for example, names in listed.items()} == there


def test_the_pages_stay_short() -> None:
    """A page that grows shortens another: what is not read is not there."""
    readme, pages = CHECKOUT / "README.md", sorted((CHECKOUT / "docs").glob("*.md"))
    words = {page: len(page.read_text("utf-8").split()) for page in (readme, *pages)}
    assert words[readme] <= 750
    assert (len(pages) <= 16, sum(words.values()) <= 14_000) == (True, True), sum(words.values())


@pytest.mark.parametrize(
    ("said", "backends"),
    [
        (r"about ([\d.]+) GB in", ("keras3/jax", "keras3/torch")),
        (r"afterwards, and ([\d.]+) GB", ("keras2/tensorflow", "keras2/cntk", "keras2/theano")),
    ],
)
def test_the_disk_that_the_readme_names_is_that_of_the_environments_of_its_command(
    said: str, backends: tuple[str, ...]
) -> None:
    readme, settings = (
        " ".join((CHECKOUT / name).read_text("utf-8").split()) for name in ("README.md", "docs/settings.md")
    )
    mib = {
        name: int(size.replace(",", "")) for name, size in re.findall(r"(keras\d/\w+) ([\d,]+) \(\d+[);]", settings)
    }
    own, named = re.search(r"kbench itself takes (\d+) MiB", settings), re.search(said, readme)
    assert own and named
    gigabytes = (int(own[1]) + sum(mib[name] for name in backends)) * 2**20 / 1e9
    assert float(named[1]) == pytest.approx(gigabytes, abs=0.1)
