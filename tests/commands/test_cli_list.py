"""What `list` prints besides its tables of backends and examples."""

from __future__ import annotations

import csv
import json

from fake_bench import Bench

from kbench.environments import interpreters

TUNED = 'tuned = ["FAST", "FLAGS"]\n[variables]\nFAST = "it is"\nTHREADS = "{threads}"\n'
LOCKED = "[builds.locked_variables]\nFLAGS = 'base={cache}/of/{example},fast=yes,path=a\\,b'\n"


def test_the_variables_that_make_backends_faster_are_printed_to_be_copied(bench: Bench) -> None:
    bench.backend("keras9/quick", more=TUNED, builds=LOCKED)
    said = bench("list", "backends", "--variables")
    assert "# keras9/quick\nexport FAST='it is'\nexport FLAGS='fast=yes,path=a\\,b'\n" in said.out
    assert "THREADS" not in said.out and "keras9/fake" not in said.out
    assert "export XLA_FLAGS=--xla" in said.out
    rows = json.loads(bench("list", "backends", "--variables", "--format", "json").out)
    assert {"backend": "keras9/quick", "variable": "FAST", "value": "it is"} in rows["variables"]
    assert bench("list", "examples", "--variables").status == 2


def test_the_page_names_backends_with_such_variables_and_both_can_be_measured(bench: Bench) -> None:
    bench.backend("keras9/quick", more=TUNED)
    said = bench.measure("--repeats", "1", backends="quick,quick+settings=default,fake")
    assert said.status == 0, said
    given = {name: about["variables"] for name, about in bench.last().provenance["environments"].items()}
    assert set(given) == {"keras9/quick+settings=default", "keras9/quick", "keras9/fake"}
    assert given["keras9/quick"]["FAST"] == "it is" and "FAST" not in given["keras9/quick+settings=default"]
    page = (bench.runs()[0] / "summary.md").read_text("utf-8")
    assert "Variables that kbench sets for speed: keras9/quick (" in page


def test_what_installing_costs_stands_behind_the_promised_columns_of_the_backends_data(bench: Bench) -> None:
    bench.patch.setattr(interpreters, "probe_once", lambda path: None)  # whatever this machine has
    bench.backend("keras9/compiling", more='programs = ["sh"]\n')
    rows = list(csv.DictReader(bench("list", "backends", "--format", "csv").out.splitlines()))
    assert list(rows[0])[:5] == ["backend", "what it is", "can", "Python", "installed"]
    assert list(rows[0])[5:] == ["install (s)", "size (MiB)", "packages", "Python used", "compilers"]
    by_name = {row["backend"]: row for row in rows}
    assert by_name["keras9/compiling"]["compilers"] == "sh"
    assert by_name["keras9/compiling"]["size (MiB)"] == "", "it is not installed"
    (listed,) = json.loads(bench("list", "backends", "--format", "json").out).values()
    assert listed == rows
    assert "compilers" not in bench("list", "backends").out
