"""`--data auto`: real data where there are any, else synthetic ones, the same for a whole run, and all says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_bench import EXAMPLE, Bench
from original_data import originals

from kbench import datasets, store
from kbench.datasets import addresses, fetch

WORDS = EXAMPLE.replace('DATA = "patterns.npz"', 'DATA = "imdb"').replace('INPUT = "image"', 'INPUT = "sequence"')
WORDS = WORDS.replace("PARAMETERS = 51", "PARAMETERS = 302")
DIGITS = EXAMPLE.replace('DATA = "patterns.npz"', 'DATA = "mnist"').replace('INPUT = "image"', 'INPUT = "flat"')
DIGITS = DIGITS.replace("PARAMETERS = 51", "PARAMETERS = 7850")
COLOURS = EXAMPLE.replace('DATA = "patterns.npz"', 'DATA = "cifar10"').replace(
    "PARAMETERS = 51", "PARAMETERS = 30730"
)
WHY = "no connection to the moon"


@pytest.fixture
def offline(bench: Bench, tmp_path: Path) -> Bench:
    """A machine without data that reaches no address; its examples are of IMDB, MNIST and CIFAR-10."""
    cache = tmp_path / "data"
    bench.patch.setattr(datasets, "cache_folder", lambda: cache)

    def failing(file, *_, **__):
        raise fetch.NotDownloaded(WHY)

    bench.patch.setattr(addresses, "ask", lambda asked: dict.fromkeys(asked, WHY))
    bench.patch.setattr(fetch, "_download", failing)
    for name, text in (("words", WORDS), ("digits", DIGITS), ("colours", COLOURS)):
        bench.example(f"{name}.py", text)
    return bench


def test_without_real_data_an_example_runs_on_synthetic_data_and_everything_says_so(offline: Bench) -> None:
    said = offline.measure(examples="words.py,digits.py")
    assert said.status == 0, said.err
    plan = " ".join(said.out.split("\n\n")[0].split())
    assert "real and synthetic data" in plan and "digits: real data that come with kbench" in plan
    assert "words: synthetic data, because there is no imdb.npz from https://storage.googleapis.com/" in plan
    assert f"({WHY})" in plan and "For real data, put these files into" in plan and "KBENCH_DATA" in plan
    printed = " ".join(said.out.split())
    assert "words (smoke: 32 of 48 samples, 2 epochs, batch 8, synthetic data, cpu)" in printed
    assert "digits (smoke: 32 of 48 samples, 2 epochs, batch 8, real data, cpu)" in printed
    assert printed.count("Synthetic data: same shapes") == 1, said.out
    assert "`--data real` takes the real ones, or says which files to get." in printed
    refused = offline.measure("--data", "real", examples="words.py")
    assert refused.status == 2 and "imdb.npz from https://storage.googleapis.com/" in " ".join(refused.err.split())
    run = offline.last()
    assert run.request["data_sources"] == {"imdb": "synthetic", "mnist": "real"}
    rows = dict([*line.split(",")[:1], line] for line in (run.folder / "summary.csv").read_text().splitlines())
    assert ",synthetic," in rows["words"] and ",real," in rows["digits"]
    page = (run.folder / "report.html").read_text()
    assert "On synthetic data: words." in page


@pytest.mark.thorough
def test_a_cell_has_the_same_data_and_order_from_what_comes_with_kbench_as_from_the_originals(
    offline: Bench, tmp_path: Path
) -> None:
    facts = []
    for name, folder in (("part", ""), ("whole", str(originals()))):
        offline.patch.setenv("KBENCH_DATA", folder)
        offline.patch.setattr(datasets, "cache_folder", lambda name=name: tmp_path / name)
        assert offline.measure("--name", name, examples="digits.py").status == 0
        (one,) = offline.last().measured
        kept = ("data_sha256", "content_sha256", "order_sha256", "data_source", "weights_sha256", "probe")
        facts.append(
            {key: getattr(one.facts, key) for key in kept} | {"losses": [epoch.loss for epoch in one.epochs]}
        )
    assert facts[0] == facts[1] and facts[0]["data_source"] == "real"
    compared = offline("compare", "part", "whole", "--format", "json")
    assert compared.status == 0 and json.loads(compared.out)["rows"][0]["largest_loss_difference"] == 0


def test_real_data_alone_are_refused_with_all_files_that_are_missing(offline: Bench) -> None:
    said = offline.measure("--data", "real", examples="words.py,colours.py,digits.py")
    assert said.status == 2 and said.err.count("\n") == 1 and not offline.runs()
    assert "imdb.npz" in said.err and "cifar-10-python.tar.gz" in said.err and "put them into" in said.err
    assert "train-images" not in said.err


def test_a_dry_run_says_what_would_be_taken_and_makes_nothing(offline: Bench) -> None:
    said = offline.measure("--dry-run", examples="words.py,digits.py")
    assert said.status == 0 and "words: synthetic data" in said.out and "digits: real data" in said.out
    assert not datasets.cache_folder().exists()


def test_synthetic_data_that_were_asked_for_ask_no_address(offline: Bench) -> None:
    offline.patch.setattr(addresses, "ask", lambda asked: pytest.fail(f"asked {asked}"))
    said = offline.measure("--data", "synthetic", "--dry-run", examples="words.py,digits.py")
    assert said.status == 0 and ", synthetic data\n" in said.out


def test_a_download_that_breaks_off_gives_synthetic_data_with_a_line(offline: Bench) -> None:
    offline.patch.setattr(addresses, "ask", lambda asked: dict.fromkeys(asked, ""))
    said = offline.measure(examples="words.py")
    assert said.status == 0, said.err
    assert "words: real data downloaded from storage.googleapis.com" in said.out
    assert "imdb: synthetic data instead of real ones, because imdb.npz from https://" in said.err and WHY in said.err
    assert offline.last().request["data_sources"] == {"imdb": "synthetic"}


def test_resume_keeps_the_data_that_the_run_began_with(offline: Bench) -> None:
    assert offline.measure("--repeats", "2", examples="words.py").status == 0
    run = offline.last()
    cell = store.cell_folder(run.folder, run.measured[1].cell)
    cell.outcome.unlink()
    offline.patch.setattr(datasets, "origin", lambda *_: pytest.fail("it was chosen again"))
    said = offline("resume")
    assert said.status == 0, said.err
    assert "1 of 2 cells to measure" in said.out and "since: measured again" not in said.out
    specs = [json.loads(path.read_text()) for path in run.folder.glob("cells/*/spec.json")]
    assert {spec["data"]["source"] for spec in specs} == {"synthetic"} and len(specs) == 2


def test_more_samples_than_come_with_kbench_are_synthetic_for_all_examples_of_the_dataset(offline: Bench) -> None:
    more = DIGITS.replace('"full": {"samples": 48', '"full": {"samples": 60000')
    offline.example("digits.py", more)
    offline.example("more.py", more.replace('"smoke": {"samples": 32', '"smoke": {"samples": 10008'))
    said = offline.measure("--dry-run", examples="digits.py,more.py")
    assert "digits, more: synthetic data, because there is no train-images-idx3-ubyte.gz" in " ".join(
        said.out.split()
    )


def test_compare_refuses_real_against_synthetic_data(offline: Bench) -> None:
    assert offline.measure("--name", "real", examples="digits.py").status == 0
    assert offline.measure("--name", "synthetic", "--data", "synthetic", examples="digits.py").status == 0
    said = offline("compare", "real", "synthetic", "--allow", "fingerprint,machine")
    assert said.status == 2 and said.out == ""
    assert said.err == (
        "kbench: error: Nothing can be compared, because there are real data in A and synthetic data in B: measure "
        "all with the same --data.\n"
    )


def test_one_example_with_other_data_is_refused_and_the_others_are_compared(offline: Bench) -> None:
    for name, source in (("real", "real"), ("synthetic", "synthetic")):
        examples = "digits.py,my_example.py"
        assert offline.measure("--name", name, "--data", source, examples=examples).status == 0
    said = offline("compare", "real", "synthetic")
    assert said.status == 0 and "real data in A and synthetic data in B" in said.out and "not compared" in said.out
