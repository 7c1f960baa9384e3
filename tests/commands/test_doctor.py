"""`doctor` looks a machine over: each line is ok or says what to type, and nothing is made or changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fake_backends import write_fake
from fake_bench import Bench, Said

from kbench.bootstrap import browser
from kbench.commands import doctor, doctor_data
from kbench.datasets import addresses
from kbench.machine import devices
from kbench.records.values import Device
from kbench.selection import backends

MNIST = "train-images-idx3-ubyte.gz"


@pytest.fixture
def clinic(bench: Bench, tmp_path: Path) -> Bench:
    """A machine with one backend, whose environment is not made yet."""
    bench.patch.setenv("KBENCH_CACHE", str(tmp_path / "cache"))
    bench.patch.setattr(doctor, "known_backends", lambda: backends.load_all(bench.backends))
    bench.patch.setattr(addresses, "ask", lambda asked: dict.fromkeys(asked, ""))
    bench.patch.setattr("kbench.features.native.debian.mirrors", lambda: ["http://deb.example/debian"])
    bench.patch.setattr(browser, "find", lambda: "/usr/bin/chromium")
    readme = tmp_path / "README.md"
    readme.write_text("Type\n\n    python run.py --backends fake\n\nor\n\n    python run.py test\n")
    bench.patch.setattr(doctor_data, "README", readme)
    return bench


def lines(said: Said) -> dict[str, str]:
    """What was looked at -> its whole line, folded lines put together."""
    found: dict[str, str] = {}
    for line in said.out.splitlines():
        state, _, rest = line.strip().partition("  ")
        if state in ("ok", "to do", "none"):
            what, _, told = rest.strip().partition("  ")
            found[what] = f"{state}: {told.strip()}"
        elif line.startswith("   ") and found:
            found[list(found)[-1]] += f" {line.strip()}"
    return found


def to_do(bench: Bench, what: str, *arguments: str) -> str:
    """The one thing that is to be done."""
    said = bench("doctor", *arguments)
    marked = {name: line for name, line in lines(said).items() if line.startswith("to do")}
    command = marked.pop("run.py --backends fake", "")
    assert list(marked) == [what], said
    assert command in ("", f"to do: does not work yet: see {what}")
    assert said.status == 1 and said.out.endswith("1 to do: see the lines marked so.\n")
    return marked[what]


def test_on_a_machine_that_has_all_each_line_is_ok(clinic: Bench) -> None:
    said = clinic("doctor")
    found = lines(said)
    assert said.status == 0 and said.err == "" and said.out.endswith("\nAll is fine.\n")
    assert {"kbench", "cache", "disk, cache", "disk, results", "GPU"} <= set(found)
    assert found["keras9/fake"].startswith("ok: cpu, Python 3.")
    assert found["keras9/fake"].endswith("the first run makes its environment")
    assert found["mnist_mlp"] == found["babi_rnn"] == "ok: real data that come with kbench"
    assert found["imdb_gru"] == "ok: real data downloaded from storage.googleapis.com"
    assert found["resnet50_features"] == "ok: random images, generated"
    assert found["browser"] == "ok: /usr/bin/chromium"
    assert found["apt"].endswith("packages from deb.example") or "none" in found["apt"]
    assert found["run.py --backends fake"] == "ok: works, on real data"
    assert found["run.py test"] == "ok: works"


def test_without_a_net_or_a_browser_the_commands_work_and_what_they_lack_is_said(clinic: Bench) -> None:
    clinic.patch.setattr(addresses, "ask", lambda asked: dict.fromkeys(asked, "no connection"))
    clinic.patch.setattr(browser, "find", lambda: "")
    some = "run.py --backends fake --examples mnist_cnn"
    doctor_data.README.write_text(
        doctor_data.README.read_text() + f"\n    python {some}\n\n## Commands\n\n    python run.py x\n"
    )
    said = clinic("doctor")
    found = lines(said)
    assert said.status == 0
    assert found[some] == "ok: works, on real data" and "run.py x" not in found
    assert said.out.splitlines()[-1].endswith(" examples have no real data.")
    assert found["mnist_cnn"] == "ok: real data that come with kbench"
    assert found["cifar10_cnn"].startswith(
        "ok: synthetic data, because there is no cifar-10-python.tar.gz from https://www.cs.toronto.edu/~kriz/ (no "
        "connection); for real data, put it into"
    )
    assert found["run.py --backends fake"] == "ok: works, with synthetic data in cifar10_cnn and imdb_gru"
    assert "none, only needed by the tests of report.html: install Chromium" in found["browser"]
    assert "works; without a browser the tests of report.html are skipped" in found["run.py test"]


def test_installed_without_the_readme_it_says_nothing_of_its_commands(clinic: Bench, tmp_path: Path) -> None:
    (tmp_path / "README.md").unlink()
    said = clinic("doctor")
    assert said.status == 0 and "README" not in said.out


def test_nothing_is_made_or_changed(clinic: Bench, tmp_path: Path) -> None:
    keras = clinic.home / ".keras"
    keras.mkdir()
    (keras / "keras.json").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    assert clinic("doctor").status == 0
    assert sorted(tmp_path.rglob("*")) == before
    assert (keras / "keras.json").read_text() == "mine"


def test_an_environment_that_is_made_is_told_with_its_size(clinic: Bench) -> None:
    assert clinic.measure().status == 0
    found = lines(clinic("doctor"))
    assert "environment of" in found["keras9/fake"] and found["keras9/fake"].startswith("ok")
    assert "environments " in found["cache"] and "data " in found["cache"]


def test_a_broken_environment_says_how_to_make_it_anew(clinic: Bench, tmp_path: Path) -> None:
    assert clinic.measure().status == 0
    (folder,) = (path for path in (tmp_path / "cache" / "environments").glob("keras9*") if path.is_dir())
    python = folder / "bin" / "python"
    python.unlink()
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    for path in (python, folder / "kbench.json", None):
        said = to_do(clinic, "keras9/fake")
        assert "its environment is broken: kbench setup --backends keras9/fake" in said
        if path:
            path.unlink()
    assert clinic("setup", "--backends", "keras9/fake").status == 0
    assert clinic("doctor").status == 0


def test_a_python_that_is_not_there_is_to_be_installed(clinic: Bench) -> None:
    clinic.backend(python="3.4")
    assert "Python 3.4 was not found" in to_do(clinic, "keras9/fake")
    assert "--python keras9/fake=" in to_do(clinic, "keras9/fake")


def test_a_missing_program_is_to_be_installed(clinic: Bench) -> None:
    clinic.backend(more='programs = ["no-such-program"]')
    said = clinic("doctor")
    found = lines(said)
    assert said.status == 1
    assert "sudo apt install no-such-program" in found["no-such-program"]
    assert "needed by keras9/fake" in found["no-such-program"]
    assert "needs the program no-such-program" in found["keras9/fake"]


def test_a_full_disk_says_what_is_wanted_and_where(clinic: Bench) -> None:
    usage = shutil.disk_usage("/")
    clinic.patch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=doctor.FOR_RESULTS))
    assert "about 4.0 GiB are needed there" in to_do(clinic, "disk, cache")
    clinic.patch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=0))
    assert clinic("doctor").out.endswith("2 to do: see the lines marked so.\n")


def test_a_cache_that_cannot_be_written_says_how_to_move_it(clinic: Bench) -> None:
    clinic.patch.setenv("KBENCH_CACHE", str(clinic.folder / "patterns.npz"))
    assert "name another folder with KBENCH_CACHE" in to_do(clinic, "cache")


def test_a_gpu_is_told_with_its_driver_and_the_build_that_would_be_taken(clinic: Bench) -> None:
    gpu = Device("gpu", 0, "GPU-a", "A card", 8.6, "535.10", 24_000)
    clinic.patch.setattr(devices, "gpus", lambda: (gpu,))
    found = lines(clinic("doctor"))
    assert found["gpu:0"] == "ok: A card, 24,000 MiB, driver 535.10, sm 8.6"
    assert found["keras9/fake"] == "none: unsupported here: keras9/fake has no build for a GPU: use --device cpu"
    builds = '[[builds]]\nname = "cu99"\ndevice = "gpu"\nrequirements = ["keras-fake==2.99.1"]\n'
    lock = (clinic.backends / "keras9" / "fake.cpu.lock").read_text()
    write_fake(clinic.backends, "keras9/fake", lock, builds=builds + 'driver = "500"')
    (clinic.backends / "keras9" / "fake.cu99.lock").write_text(lock)
    assert lines(clinic("doctor"))["keras9/fake"].startswith("ok: cu99, Python 3.")
    assert lines(clinic("doctor", "--device", "cpu"))["keras9/fake"].startswith("ok: cpu, Python 3.")


def test_data_at_hand_are_read_and_a_damaged_file_is_named(clinic: Bench, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    (mirror / "babi_tasks_1-20_v1-2.tar.gz").write_bytes(b"not it")
    clinic.patch.setenv("KBENCH_DATA", str(mirror))
    said = to_do(clinic, "babi_rnn")
    assert "babi_tasks_1-20_v1-2.tar.gz is not the published file" in said and "https://" in said


def test_a_folder_with_data_that_is_none_is_one_sentence(clinic: Bench) -> None:
    (clinic.folder / "patterns.npz").touch()
    for folder in ("nowhere", "patterns.npz", "~no-such-user/data"):
        clinic.patch.setenv("KBENCH_DATA", folder)
        for said in (clinic("doctor"), clinic.measure()):
            assert said.status == 2 and "is not a folder: give KBENCH_DATA one that exists" in said.err
            assert said.err.count("\n") == 1


def test_a_python_of_the_users_own_is_looked_at(clinic: Bench, tmp_path: Path) -> None:
    assert "has no keras and no theano" in to_do(
        clinic, "keras9/fake", "--python", f"fake={shutil.which('python3')},as-is"
    )


def test_a_damaged_lock_file_is_named(clinic: Bench) -> None:
    (clinic.backends / "keras9" / "fake.cpu.lock").write_bytes(b"\xff\xfe")
    assert "fake.cpu.lock is damaged: it is not text" in to_do(clinic, "keras9/fake")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--device", "tpu"), "use auto, cpu, gpu or gpu:N"),
        (("--python", "fake"), "not of the form"),
        (("extra",), "Unrecognized arguments"),
    ],
)
def test_a_wrong_request_is_one_sentence(clinic: Bench, arguments: tuple[str, ...], words: str) -> None:
    said = clinic("doctor", *arguments)
    assert said.status == 2 and words in said.err and said.err.count("\n") == 1
