"""A run records the machine, packages and settings that it was measured with, and its page shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fake_bench import EXAMPLE, Bench, events_of
from msgspec import to_builtins

VARIABLES = """
[variables]
FAKE_FLAGS = "cache={cache}/x,threads={threads}"
FAKE_API_TOKEN = "hunter2"
"""


def provenance(run: Path) -> dict[str, Any]:
    return dict(json.loads((run / "run.json").read_text())["provenance"])


def test_packages_lock_and_variables_of_an_environment_are_kept_once(bench: Bench) -> None:
    bench.backend(more=VARIABLES)
    assert bench.measure("--repeats", "2", "--threads", "3").status == 0
    (run,) = bench.runs()
    (name, kept), *others = provenance(run)["environments"].items()
    assert name == "keras9/fake" and others == []
    assert kept["packages"] == {"fake-framework": "1.0", "keras-fake": "2.99.1"}
    assert len(kept["lock_sha256"]) == 64 and kept["build"] == "cpu" and kept["as_is"] is False
    assert kept["variables"]["FAKE_FLAGS"].endswith("/x,threads=3")
    assert kept["variables"]["CUDA_VISIBLE_DEVICES"] == "-1"
    assert "hunter2" not in (run / "run.json").read_text()


def test_variables_are_those_that_the_cells_process_got(bench: Bench) -> None:
    bench.patch.setenv("OMP_PROC_BIND", "true")
    bench.patch.setenv("MKL_DEBUG_CPU_TYPE", "5")  # is not handed on, so it does not matter
    told = "import json, os\nfrom pathlib import Path\n\nPath('told.json').write_text(json.dumps(dict(os.environ)))\n"
    bench.backend(more=VARIABLES)
    bench.example("my_example.py", EXAMPLE.replace("from keras.layers", f"{told}\nfrom keras.layers", 1))
    bench.measure()
    (run,) = bench.runs()
    (file,) = run.glob("cells/*/told.json")
    got = json.loads(file.read_text())
    variables = provenance(run)["environments"]["keras9/fake"]["variables"]
    assert variables == {name: got[name] for name in variables}
    assert variables["OMP_PROC_BIND"] == "true" and "MKL_DEBUG_CPU_TYPE" not in variables


def test_the_users_own_environment_is_listed_too(bench: Bench) -> None:
    bench.backend("keras9/own")  # no other test's environment has this name
    bench.measure(backends="own")
    (python,) = bench.environment().glob("keras9-own-*/bin/python")
    bench.measure("--name", "mine", "--python", f"own={python},as-is", backends="own")
    kept = provenance(bench.results / "mine")["environments"]["keras9/own"]
    assert kept["as_is"] is True and kept["lock_sha256"] == ""
    assert kept["packages"]["keras-fake"] == "2.99.1"


def test_the_end_of_a_run_is_recorded(bench: Bench) -> None:
    bench.measure()
    told = provenance(bench.runs()[0])
    assert told["ended"]["time"] >= told["started"]


def test_the_guest_tells_the_libraries_that_computed(bench: Bench) -> None:
    bench.measure()
    (told,) = [event for event in events_of(bench.runs()[0]) if event["event"] == "libraries"]
    assert all({"kind", "file", "threads"} == one.keys() for one in told["libraries"])
    (facts,) = [one.facts for one in bench.last().measured]
    assert [*to_builtins(facts.libraries)] == told["libraries"]
    assert facts.framework_threads == told["framework_threads"]


def test_the_page_states_the_configuration_and_comes_back_byte_for_byte(bench: Bench) -> None:
    bench.backend(more=VARIABLES)
    bench.backend("keras9/other")
    bench.measure(backends="fake,other")
    (run,) = bench.runs()
    page = (run / "summary.md").read_bytes()
    text = page.decode().replace("\\", "")
    section = text[text.index("## Configuration") :]
    for said in ("| my_example", "| keras9/fake", "2.99.1"):
        assert said in section, said
    assert "- **every backend**: `CUDA_DEVICE_ORDER=PCI_BUS_ID`" in section
    assert "- **keras9/fake**: `FAKE_FLAGS=cache=" in section and "hunter2" not in section
    assert "- **keras9/other**" not in section[section.index("Environment variables") :]
    derived = {path: path.read_bytes() for path in run.glob("summary.*")}
    for path in derived:
        path.unlink()
    assert bench("report").status == 0
    assert {path: path.read_bytes() for path in derived} == derived and (run / "summary.md").read_bytes() == page
