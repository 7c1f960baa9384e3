"""The mistakes of published comparisons are built again: kbench says of each what tests/audit/README.md quotes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from probing import CLASSES, SAMPLES, Job, as_of, data, probe
from real_runs import CHECKOUT, Kbench

from kbench.analysis.summaries import summarise
from kbench.records.values import Measured
from kbench.selection import examples

pytestmark = [pytest.mark.timeout(1800), pytest.mark.slow("two backends run every mistake")]

FILES = CHECKOUT / "tests" / "audit"
DOCUMENT = FILES / "README.md"
BACKENDS = ("keras3/jax", "keras3/torch")
OF_ITSELF = "another_backend"  # spoils the Keras of its process: in no process with others
MISTAKES = sorted(path.stem for path in (FILES / "mistakes").glob("*.py"))
SEVERAL = [name for name in MISTAKES if name != OF_ITSELF]


def quoted() -> dict[str, list[str]]:
    """The sentences in the block after the link to each file; none for a file without one."""
    found: dict[str, list[str]] = {}
    name = ""
    for link, block in re.findall(
        r"\]\((\w+/\w+)\.py\)|^```text\n(.*?)^```",
        DOCUMENT.read_text("utf-8"),
        re.DOTALL | re.MULTILINE,
    ):
        name = link or name
        found.setdefault(name, []).extend(block.splitlines())
    return found


def without_fractions(sentences: Sequence[str]) -> list[str]:
    """How far numbers are off, losses and seconds depend on the data and the machine."""
    return [re.sub(r"\b\d+\.\d+\b", "#", sentence) for sentence in sentences]


def said(measured: Sequence[Measured]) -> list[str]:
    """All that is said of the rows of one example."""
    rows = sorted(summarise(measured), key=lambda row: row.backend)
    several = [sentence for row in rows for sentence in (row.reason, *row.differs, *row.notes) if sentence]
    # How long fit takes to return, which is a note from a length on, is of the machine.
    return [one for one in dict.fromkeys(several) if "after its last batch" not in one]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Measured]]:
    """Each mistake on each backend, all in one process of the backend."""
    folder = tmp_path_factory.mktemp("mistakes")
    random = np.random.RandomState(0)
    classes = random.randint(0, CLASSES, SAMPLES)
    reviews = random.randint(1, 30000, (SAMPLES, 20)).astype("int32")
    reviews[np.arange(20) < random.randint(0, 15, (SAMPLES, 1))] = 0  # padded in front
    digits = random.rand(SAMPLES, 28, 28, 1).astype("float32")
    arrays = {
        ("mnist", "flat"): data(folder / "flat", [digits.reshape(SAMPLES, -1)], [classes]),
        ("mnist", "image"): data(folder / "digits", [digits], [classes]),
        ("cifar10", "image"): data(folder / "images", [random.rand(SAMPLES, 32, 32, 3).astype("float32")], [classes]),
        ("imdb", "sequence"): {**data(folder / "reviews", [reviews], [classes % 2]), "num_classes": 2},
    }
    jobs = {}
    for name in SEVERAL:
        file = FILES / "mistakes" / f"{name}.py"
        constants = examples.load(file).constants
        kind = str(constants["DATA"]), str(constants["INPUT"])
        jobs[name] = Job(file, arrays[kind], epochs=2 if name == "progress_bar" else 1)
    found = [probe(folder / backend.replace("/", "-"), backend, jobs, "channels_last") for backend in BACKENDS]
    return {name: [as_of(one[name], example=name) for one in found] for name in SEVERAL}


def test_each_mistake_is_found_and_told_as_it_is_quoted(built: dict[str, list[Measured]]) -> None:
    found = {mistake: without_fractions(said(built[mistake])) for mistake in SEVERAL}
    assert found == {mistake: without_fractions(quoted()[f"mistakes/{mistake}"]) for mistake in SEVERAL}


def printed(output: str) -> str:
    """In one line, as sentences are broken to fit the screen."""
    return " ".join(output.split())


@pytest.mark.thorough
def test_the_screen_marks_the_row_and_a_file_that_changes_its_backend_fails(kbench: Kbench) -> None:
    """A cell in which another backend than the one that was asked for was loaded is not measured."""
    names = ("softmax_twice", OF_ITSELF)
    files = ",".join(str(FILES / "mistakes" / f"{name}.py") for name in names)
    run = kbench.measure_apart(",".join(BACKENDS), files, "--interleave", "off")
    assert run.status == 1, run.output
    assert "ok, differs [" in run.output
    for name in names:
        sentences = quoted()[f"mistakes/{name}"]
        assert sentences
        for sentence in without_fractions(sentences):
            assert sentence in without_fractions([printed(run.output)])[0]


@pytest.mark.thorough  # other such programs by default in test_real_unlike_programs.py
@pytest.mark.parametrize("program", ["another_backend", "fits"])
def test_a_program_is_told_what_it_did_otherwise(kbench: Kbench, program: str) -> None:
    run = kbench.script(FILES / "programs" / f"{program}.py", ",".join(BACKENDS))
    assert run.status == 0, run.output
    sentences = quoted()[f"programs/{program}"]
    assert sentences
    for sentence in sentences:
        assert sentence in printed(run.output)


@pytest.mark.thorough
def test_one_command_prints_all_that_is_quoted(kbench: Kbench) -> None:
    files = ",".join(str(FILES / "mistakes" / f"{name}.py") for name in MISTAKES)
    run = kbench.measure_apart(",".join(BACKENDS), files, "--interleave", "off")
    output = without_fractions([printed(run.output)])[0]
    missing = [
        (name, sentence)
        for name in MISTAKES
        for sentence in without_fractions(quoted()[f"mistakes/{name}"])
        if sentence not in output
    ]
    assert missing == []
