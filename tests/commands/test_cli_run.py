"""The `run` command from start to end with a fake backend in its own Python: options, results and tables."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from fake_backends import HOST_PYTHON
from fake_bench import EXAMPLE, INFERENCE, Bench, events_of

from kbench.machine import devices
from kbench.records.values import Device

KERAS_JSON = '{"backend": "mine", "image_data_format": "channels_first",\r\n "floatx": "float64", "epsilon": 0.5}'
GPU = Device("gpu", 0, "GPU-aaaa", "NVIDIA H100", 9.0, "580.65", 81559)


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as text:
        return list(csv.DictReader(text))


def test_a_run_ends_with_a_table_and_everything_on_disk(bench: Bench) -> None:
    bench.draw()
    said = bench.measure()
    assert said.status == 0, said
    (run,) = bench.runs()
    assert "keras9/fake" in said.out and " ok" in said.out
    assert " ".join(said.out.split()).endswith(
        f"Tables, plots and raw measurements: results/{run.name} (start with report.html; plots are in plots/)"
    )
    (row,) = rows(run / "summary.csv")
    wanted = {"example": "my_example", "backend": "keras9/fake", "status": "ok", "device": "cpu", "parameters": "51"}
    wanted |= {"profile": "smoke", "keras_version": "2.99.1", "backend_version": "1.0", "repeats": "1"}
    assert wanted.items() <= row.items()
    first, second = rows(run / "epochs.csv")
    assert float(second["loss"]) < float(first["loss"])
    assert float(second["val_accuracy"]) > 0.9
    assert {"run.json", "cells", "summary.csv", "epochs.csv", "summary.md", "plots"} <= {
        path.name for path in run.iterdir()
    }


def test_without_plots_the_tables_and_the_page_are_there_and_report_draws_the_plots_later(bench: Bench) -> None:
    bench.draw()
    said = bench.measure("--no-plots")
    (run,) = bench.runs()
    last = f"Tables and raw measurements: results/{run.name} (start with report.html)"
    assert said.status == 0 and said.out.rstrip().endswith(last)
    assert (run / "report.html").is_file() and "plots/" not in (run / "summary.md").read_text()
    assert not (run / "plots").exists()
    assert bench("report").status == 0
    assert (run / "plots" / "overview.png").is_file() and "plots/" in (run / "summary.md").read_text()
    assert bench("report", "--no-plots").status == 0
    assert (run / "plots" / "overview.png").is_file() and "plots/" in (run / "summary.md").read_text()
    said = bench("report", "--no-plots", "--plot-size", "3x2")
    assert said.status == 2 and "--no-plots draws nothing" in said.err


def test_the_environment_is_made_by_the_first_run_and_found_by_the_next(bench: Bench, tmp_path: Path) -> None:
    bench.patch.setenv("KBENCH_CACHE", str(tmp_path / "cache"))
    first = bench.measure()
    assert "to make    environments for keras9/fake" in first.out
    assert "keras9/fake: making its environment (cpu, Python " in first.err
    second = bench.measure()
    assert "to make" not in second.out and "making" not in second.err


def test_the_plan_is_printed_first_with_full_names_device_and_what_is_left_out(bench: Bench) -> None:
    bench.backend("keras9/half", can='["infer"]')
    said = bench.measure("--dry-run", backends="half,fake,jax,torch")
    lines = said.out.splitlines()
    assert said.status == 0
    assert lines[0] == "Plan: 4 cells, profile smoke: a tiny subset, real data"
    assert lines[1] == "  backends   keras9/half, keras9/fake, keras3/jax, keras3/torch"
    assert lines[2] == "  examples   my_example"
    assert lines[3] == "  device     cpu"
    assert lines[4] == "  settings   tuned for speed; NAME+settings=default in --backends: not tuned"
    assert lines[5].startswith("  to make    environments for ") and "keras3/jax, keras3/torch" in lines[5]
    assert lines[-2:] == ["  left out   1 that cannot run:", "             keras9/half: a fake that does half of it"]


def test_the_plan_says_which_seeds_the_repeats_have_and_what_they_are_compared_with(bench: Bench) -> None:
    alike = bench.measure("--dry-run", "--repeats", "3", "--seed", "7").out
    assert "  repeats    3, seed 7 in each\n" in alike and "baseline" not in alike
    options = ("--repeats", "3", "--seed", "7", "--seeds", "different", "--baseline", "fake")
    others = bench.measure("--dry-run", *options).out
    assert "  repeats    3, seeds 7 to 9, one for each\n  baseline   keras9/fake\n" in others
    assert "repeats" not in bench.measure("--dry-run").out


def test_a_dry_run_makes_nothing(bench: Bench, tmp_path: Path) -> None:
    bench.patch.setenv("KBENCH_CACHE", str(tmp_path / "cache"))
    assert bench.measure("--dry-run").status == 0
    assert bench.runs() == []
    assert not (tmp_path / "cache").exists()


def test_every_option_reaches_the_guest(bench: Bench) -> None:
    counts = ["--epochs", "3", "--samples", "20", "--batch-size", "4", "--seed", "7"]
    said = bench.measure(*counts, "--repeats", "2", "--timeout", "77")
    assert said.status == 0, said
    specs = [json.loads(path.read_text()) for path in bench.runs()[0].glob("cells/*/spec.json")]
    assert len(specs) == 2
    for spec in specs:
        asked = {"epochs": 3, "samples": 20, "batch_size": 4, "seed": 7}
        assert asked.items() <= spec.items()
    assert bench.last().request["timeout"] == 77
    assert bench.last().provenance["command_line"].endswith("--repeats 2 --timeout 77")


def test_the_same_seed_gives_the_same_weights_order_and_losses_and_another_seed_others(bench: Bench) -> None:
    facts = []
    for seed in ("1", "1", "2"):
        assert bench.measure("--seed", seed).status == 0
        (one,) = bench.last().measured
        facts.append((one.facts.weights_sha256, one.facts.order_sha256, one.epochs[-1].loss))
    assert facts[0] == facts[1]
    assert all(same != other for same, other in zip(facts[0], facts[2], strict=True))


def test_different_seeds_differ_between_repeats_and_are_alike_across_backends(bench: Bench) -> None:
    bench.backend("keras9/other")
    said = bench.measure("--repeats", "2", "--seeds", "different", backends="fake,other")
    assert said.status == 0, said
    run = bench.last()
    assert (run.request["seed"], run.request["seeds"]) == (0, "different")
    proofs = {
        (one.cell.repeat, one.cell.backend): (one.facts.weights_sha256, one.facts.order_sha256)
        for one in run.measured
    }
    assert proofs[1, "keras9/fake"] == proofs[1, "keras9/other"]
    assert proofs[2, "keras9/fake"] == proofs[2, "keras9/other"]
    assert all(
        first != second for first, second in zip(proofs[1, "keras9/fake"], proofs[2, "keras9/fake"], strict=True)
    )
    assert "over repeats with different seeds" in (run.folder / "summary.md").read_text()


def test_a_baseline_is_kept_for_later_reports_and_can_be_given_anew(bench: Bench) -> None:
    bench.backend("keras9/other")
    said = bench.measure("--epochs", "3", "--baseline", "other", backends="fake,other")
    assert said.status == 0, said
    assert "x baseline: the ratio to keras9/other." in said.out
    (run,) = bench.runs()
    before = (run / "summary.csv").read_bytes()
    assert {row["baseline"] for row in rows(run / "summary.csv")} == {"keras9/other"}
    given = bench("report", "--baseline", "fake")
    assert "x baseline: the ratio to keras9/fake." in given.out
    of = {row["backend"]: row for row in rows(run / "summary.csv")}
    assert float(of["keras9/fake"]["relative_to_baseline"]) == 1.0
    assert min(float(row["relative_to_fastest"]) for row in of.values()) == 1.0
    bench("report")
    assert (run / "summary.csv").read_bytes() == before


def test_time_to_accuracy_reaches_the_tables(bench: Bench) -> None:
    bench.example("my_example.py", EXAMPLE + "\nTARGET_ACCURACY = 0.3\n")
    said = bench.measure()
    assert said.status == 0 and "to 0.3: time until the validation accuracy reaches it." in said.out
    (row,) = rows(bench.runs()[0] / "summary.csv")
    assert (row["target"], row["repeats_to_target"]) == ("val_accuracy >= 0.3", "1")
    first = rows(bench.runs()[0] / "epochs.csv")[0]
    assert float(row["epochs_to_target"]) == 1 and row["seconds_to_target"] == first["seconds"]


def test_a_terminal_without_the_sign_gets_a_table_all_the_same(bench: Bench) -> None:
    assert bench.measure("--repeats", "2", "--seeds", "different").status == 0
    bench.patch.setenv("PYTHONIOENCODING", "ascii")
    process = bench.start("report")
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert "? of an accuracy: the standard deviation" in out


def test_inference_is_timed_in_passes_without_scores(bench: Bench) -> None:
    bench.example("features.py", INFERENCE)
    assert bench.measure(examples="features.py").status == 0
    (one,) = bench.last().measured
    assert [epoch.epoch for epoch in one.epochs] == [1, 2]
    assert {epoch.loss for epoch in one.epochs} == {None}
    assert 0 < one.phases["first_step"] <= one.phases["first_epoch"]
    assert [len(epoch.step_seconds) for epoch in one.epochs] == [4, 4]


def test_the_steps_of_an_epoch_are_its_time_and_the_first_holds_the_compilation(bench: Bench) -> None:
    assert bench.measure("--epochs", "3").status == 0
    (one,) = bench.last().measured
    for epoch in one.epochs:
        assert len(epoch.step_seconds) == 32 // 8
        assert sum(epoch.step_seconds) == pytest.approx(epoch.seconds, abs=1e-6)
    steady = sorted(second for epoch in one.epochs[1:] for second in epoch.step_seconds)
    with (bench.runs()[0] / "summary.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    usual = (steady[3] + steady[4]) / 2
    assert float(row["step_seconds_median"]) == pytest.approx(usual)
    assert usual <= float(row["step_seconds_p95"]) <= steady[-1]
    assert float(row["compile_seconds"]) == pytest.approx(max(0.0, one.phases["first_step"] - usual))
    assert row["device_memory_mib"] == row["allocator_peak_mib"] == ""  # of a GPU


def test_both_layouts_are_two_cells_that_see_the_same_pictures(bench: Bench) -> None:
    assert bench.measure("--image-data-format", "both").status == 0
    first, last = bench.last().measured
    assert (first.cell.image_data_format, last.cell.image_data_format) == ("channels_first", "channels_last")
    # One channel: flattened, both layouts are the same numbers in the same order.
    assert [epoch.loss for epoch in first.epochs] == [epoch.loss for epoch in last.epochs]


def test_an_environment_of_the_users_own_is_used_as_it_is_whatever_its_versions(bench: Bench) -> None:
    assert bench.measure().status == 0
    (spec,) = bench.runs()[0].glob("cells/*/spec.json")
    assert json.loads(spec.read_text())["versions"] == {"keras": "2.99.1", "backend": "1.0"}
    python = next(bench.environment().glob("keras9-fake-*/bin/python"))
    said = bench.measure("--python", f"fake={python},as-is")
    assert said.status == 0, said
    (spec,) = bench.runs()[1].glob("cells/*/spec.json")
    assert json.loads(spec.read_text())["versions"] == {}


# keras.json and the guest's environment variables.


def test_each_cell_has_a_keras_home_of_its_own(bench: Bench) -> None:
    assert bench.measure("--image-data-format", "both").status == 0
    written = [json.loads(path.read_text()) for path in sorted(bench.runs()[0].glob("cells/*/keras_home/keras.json"))]
    assert written == [
        {"backend": "theano", "image_data_format": layout, "floatx": "float32", "epsilon": 1e-07}
        for layout in ("channels_first", "channels_last")
    ]


def test_the_users_keras_json_does_not_count_and_stays_byte_for_byte_what_it_was(bench: Bench) -> None:
    own = bench.home / ".keras" / "keras.json"
    own.parent.mkdir()
    own.write_bytes(KERAS_JSON.encode())
    assert bench.measure().status == 0
    assert own.read_bytes() == KERAS_JSON.encode()
    assert [path.name for path in own.parent.iterdir()] == ["keras.json"]


def test_keras_backend_of_the_users_environment_does_not_win(bench: Bench) -> None:
    bench.patch.setenv("KERAS_BACKEND", "cntk")
    bench.patch.setenv("KERAS_HOME", str(bench.home))
    assert bench.measure().status == 0
    (loaded,) = [event for event in events_of(bench.runs()[0]) if event["event"] == "loaded"]
    assert loaded["keras_backend"] == "theano"


def test_secrets_of_the_users_environment_do_not_reach_the_guest(bench: Bench) -> None:
    for name in ("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "WANDB_API_KEY", "PYTHONPATH", "PIP_INDEX_URL"):
        bench.patch.setenv(name, "hunter2")
    bench.example("my_example.py", EXAMPLE + "\nimport os\n\nprint(sorted(os.environ.items()))\n")
    assert bench.measure().status == 0
    (log,) = bench.runs()[0].glob("cells/*/log.txt")
    assert "KERAS_HOME" in log.read_text()
    assert "hunter2" not in log.read_text()


@pytest.mark.parametrize(
    ("insists_on", "reason"),
    [
        (
            "image_data_format=channels_first",
            "Keras loaded image_data_format channels_first, but channels_last was asked for",
        ),
        ("floatx=float16", "Keras loaded floatx float16, but float32 was asked for"),
    ],
)
def test_a_keras_that_loads_something_else_fails_the_cell_and_says_so(
    bench: Bench, insists_on: str, reason: str
) -> None:
    bench.backend(more=f'[variables]\nFAKE_KERAS_INSISTS_ON = "{insists_on}"\n')
    assert bench.measure().status == 1
    assert bench.reason() == reason


def test_a_keras_of_another_version_than_locked_fails_the_cell_and_says_so(bench: Bench) -> None:
    bench.backend(more='[variables]\nFAKE_KERAS_VERSION = "2.98.0"\n')
    assert bench.measure().status == 1
    assert bench.reason() == "Keras loaded keras_version 2.98.0, but 2.99.1 was asked for"


@pytest.mark.thorough
def test_two_runs_at_once_in_one_folder_do_not_disturb_each_other(bench: Bench) -> None:
    options = ["--backends", "fake", "--examples", "my_example.py", "--profile", "smoke", "--device", "cpu"]
    both = [bench.start(*options, "--seed", seed) for seed in ("1", "2")]
    for process in both:
        _, err = process.communicate()
        assert process.returncode == 0, err
    first, second = bench.runs()
    assert {json.loads((run / "run.json").read_text())["request"]["seed"] for run in (first, second)} == {1, 2}
    for run in (first, second):
        assert [row["status"] for row in rows(run / "summary.csv")] == ["ok"]
        assert len([event for event in events_of(run) if event["event"] == "start"]) == 1


# Devices.


def test_a_gpu_is_pinned_and_its_use_is_verified_from_inside(bench: Bench) -> None:
    bench.patch.setattr(devices, "gpus", lambda: (GPU,))
    own = '[[builds]]\nname = "own-gpu"\ndevice = "gpu"\nrequirements = []\nnote = "not run on hardware"\n'
    bench.backend(builds=own + '[builds.variables]\nTHEANO_FLAGS = "device=cuda"\n')
    bench.example("my_example.py", EXAMPLE + '\nimport os\n\nprint("sees", os.environ["CUDA_VISIBLE_DEVICES"])\n')
    assert bench.measure().status == 0  # makes the environment
    python = next(bench.environment().glob("keras9-fake-*/bin/python"))
    said = bench.measure("--device", "gpu", "--python", f"fake={python},as-is")
    assert said.status == 0, said
    plan = "  device     gpu:0 (NVIDIA H100, driver 580.65)\n  note       keras9/fake: not run on hardware\n"
    assert plan in said.out
    (log,) = bench.runs()[1].glob("cells/*/log.txt")
    assert "sees GPU-aaaa" in log.read_text()
    assert [row["device"] for row in rows(bench.runs()[1] / "summary.csv")] == ["gpu:0"]


def test_a_framework_that_falls_back_to_the_cpu_is_no_gpu_row(bench: Bench) -> None:
    bench.patch.setattr(devices, "gpus", lambda: (GPU,))
    bench.backend(builds='[[builds]]\nname = "own-gpu"\ndevice = "gpu"\nrequirements = []\n')
    assert bench.measure().status == 0
    python = next(bench.environment().glob("keras9-fake-*/bin/python"))
    said = bench.measure("--device", "gpu", "--python", f"fake={python},as-is")
    assert said.status == 1  # backend and example were both named
    reason = "the cell was to run on the gpu, but theano 1.0 runs it on the cpu"
    assert bench.fates() == {"my_example": ("unsupported", reason)}


# Exit statuses.


@pytest.mark.parametrize(
    ("backends", "examples", "status"),
    [("half", "my_example.py", 1), ("keras9", "my_example.py", 0), ("all", "my_example.py", 0)],
)
def test_unsupported_counts_only_where_backend_and_example_are_named(
    bench: Bench, backends: str, examples: str, status: int
) -> None:
    (bench.backends / "keras9" / "fake.toml").unlink()
    bench.backend("keras9/half", can='["infer"]')
    bench.patch.setattr("kbench.selection.backends.load_all", only_of(bench))
    assert bench.measure(backends=backends, examples=examples).status == status
    assert bench.fates() == {"my_example": ("unsupported", "a fake that does half of it")}


@pytest.mark.parametrize(("backends", "status"), [("away", 1), ("keras9", 0)])
def test_unavailable_counts_only_where_the_backend_is_named(bench: Bench, backends: str, status: int) -> None:
    (bench.backends / "keras9" / "fake.toml").unlink()
    bench.backend("keras9/away", more='programs = ["no-such-program"]')
    said = bench.measure(backends=backends)
    assert said.status == status
    ((fate, reason),) = bench.fates().values()
    assert fate == "unavailable" and reason.startswith("keras9/away needs the program no-such-program")


def only_of(bench: Bench) -> object:
    """Loads the test's backends alone, so that `all` means them."""
    from kbench.selection import backends

    load_all = backends.load_all
    return lambda folder, further: load_all(further)


def test_a_failed_cell_is_status_1_whoever_named_it(bench: Bench) -> None:
    bench.example("broken.py", EXAMPLE + "\nimport no_such_module\n")
    assert bench.measure(backends="keras9", examples="broken.py").status == 1
    reason = "broken.py raises on import: line 27: ModuleNotFoundError: No module named 'no_such_module'"
    assert bench.fates() == {"broken": ("failed", reason)}


def test_kbench_can_be_asked_for_what_it_has(bench: Bench) -> None:
    listed = bench("list", "backends")
    assert listed.status == 0 and "keras9/fake" in listed.out and "miniature" in listed.out
    assert HOST_PYTHON in listed.out and "keras3/jax" in listed.out
    ready = bench("setup", "--backends", "fake", "--device", "cpu")
    assert ready.status == 0 and ready.out.startswith("keras9/fake: ready (cpu, ")
    assert "mnist_cnn" in bench("list", "examples").out


@pytest.mark.parametrize(
    "command", [["--help"], ["run", "--help"], ["list", "-h"], ["setup", "-h"], ["report", "-h"], ["resume", "-h"]]
)
def test_every_command_has_help(bench: Bench, command: list[str]) -> None:
    said = bench(*command)
    assert (said.status, said.err) == (0, "")
    assert "kbench" in said.out


def test_a_report_is_rebuilt_from_what_was_measured(bench: Bench) -> None:
    assert bench.measure().status == 0
    (run,) = bench.runs()
    before = (run / "summary.md").read_bytes()
    (run / "summary.md").unlink()
    said = bench("report")
    assert said.status == 0 and "keras9/fake" in said.out
    assert (run / "summary.md").read_bytes() == before
    assert bench("report", run.name).out == said.out
