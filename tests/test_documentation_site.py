"""The documentation site: it builds without a warning, and each command in it is run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documentation_commands import ANSWERS, CHECKOUT, PAGES, answer_commands, commands

from kbench import store
from kbench.cli import arguments, main
from kbench.environments import interpreters

pytestmark = pytest.mark.slow("runs every command of the pages")

# These make environments, go on with a run, measure for minutes or take runs of several versions. They are read here,
# and run in the tests named.
READ = {
    "setup": "tests/environments",
    "resume": "tests/commands",
    "bisect": "tests/commands/test_cli_variants.py",
    "admit": "tests/features/collection",
    "releases": "tests/features/history",
    "site": "tests/features/collection",
    "history": "tests/features/history",
    "test": "what runs this",
}
# What stands for something of the user's.
STANDS_FOR = {
    "COMMAND": "run",
    "FILE": "paper.mplstyle",
    "RUN": "latest",
    "/usr/bin/python3.6": sys.executable,
    "~/conda/envs/jax": sys.executable,
    "gpu": "cpu",
    "/mnt/conda-channel": "channel",
    "docs/cluster/slurm.yaml": str(CHECKOUT / "docs/cluster/slurm.yaml"),
    "docs/cluster/kubernetes.yaml": str(CHECKOUT / "docs/cluster/kubernetes.yaml"),
}


def meant(command: str) -> str:
    for word, meaning in STANDS_FOR.items():
        command = re.sub(rf"(?<![\w./-]){re.escape(word)}(?![\w./])", meaning, command)
    return command.replace(" [C ...]", "").replace("compare A B", "compare before after")


EVERY = sorted({meant(command) for page in PAGES for command in commands(page)})


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [Path(sys.executable).with_name("mkdocs"), "build", "--strict", "--site-dir", folder],
        cwd=CHECKOUT,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_the_site_builds_without_a_warning_and_has_every_page(site: Path) -> None:
    pages = {path.parent.name for path in site.rglob("index.html")}
    assert {page.stem for page in PAGES} - {"README"} <= pages
    assert {"commands", "columns", "findings", "events", "backends", "examples"} <= pages
    assert "python run.py script train.py" in (site / "index.html").read_text("utf-8"), "it begins with the README"


def test_the_reference_has_every_option_event_backend_and_example(site: Path) -> None:
    def shown(name: str) -> str:
        return (site / "reference" / name / "index.html").read_text("utf-8")

    for command in arguments.commands():
        assert f'id="{command}"' in shown("commands")
    for option in ("--precision", "--package", "--shims", "--fail-above"):
        assert option in shown("commands")
    assert "evaluation_seconds" in shown("events") and "keras2/cntk" in shown("backends")
    assert "imdb_gru" in shown("examples") and "score apart" in shown("findings")


def test_each_program_of_an_answer_has_a_command_in_the_row_of_its_thread() -> None:
    programs = {path.stem for path in (CHECKOUT / "docs" / "answers").glob("*.py")}
    commanded = re.findall(r"docs/answers/(\w+)\.py", "\n".join(answer_commands()))
    assert sorted(commanded) == sorted(programs)
    rows = re.findall(r"^\| .*?\[(\d+)\].*_(\d+)\.py ", ANSWERS.read_text("utf-8"), re.MULTILINE)
    assert len(rows) == len(programs) and all(thread == program for thread, program in rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a reader of the documentation could be: runs, a program, an example, a checkout of Keras."""
    place = tmp_path_factory.mktemp("docs") / "work"
    reference = store.raw_folder(CHECKOUT / "results" / "reference")
    for name in ("reference", "latest", "before", "after", "mine", "monday", "tuesday", "first", "t1", "t2", "t4"):
        left_out = shutil.ignore_patterns("plots", "mnist_*", "cifar10_*", "imdb_*")  # two examples are drawn sooner
        shutil.copytree(reference, place / "results" / name, ignore=left_out)
    package = place.parent / "keras" / "keras"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (place / "paper.mplstyle").write_text("font.size: 8\n")
    for name in ("docs/answers", "tests/audit", "examples_models/programs"):
        shutil.copytree(CHECKOUT / name, place / name)
    (place / "train.py").write_text("import keras\n")
    (place / "train.ipynb").write_text('{"cells": [{"cell_type": "code", "source": "import keras\\n"}]}')
    shutil.copy(CHECKOUT / "examples_models" / "kinds" / "basic.py", place / "my_model.py")
    return place


# What another version needs is looked up in an index of packages.
LOOKED_UP = "tensorflow2@"


@pytest.mark.parametrize(
    "command", [pytest.param(one, marks=pytest.mark.thorough) if LOOKED_UP in one else one for one in EVERY]
)
def test_a_command_in_the_documentation_runs(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("KBENCH_CACHE", str(folder / "cache"))  # that of the user takes seconds to read
    monkeypatch.setattr(interpreters, "fitting", lambda backend, path: None)  # not every machine has Python 3.6
    words = shlex.split(command)
    name = words[0] if words[0] in arguments.commands() else "run"
    if "--help" in words:
        with pytest.raises(SystemExit) as ended:
            main.main(words)
        assert ended.value.code == 0
        return
    if words[0] in READ:
        assert words == ["test"] or arguments.parse(words).command == words[0]
        return
    if "--dry-run" in arguments.commands()[name].options and "--dry-run" not in words:
        place = words.index("--") if "--" in words else len(words)
        words[place:place] = ["--dry-run", "--results", "planned"]
    if words[0] == "new":
        (folder / "my_model.py").unlink(missing_ok=True)
    status = main.main(words)
    printed = capsys.readouterr()
    assert status == 0 or (status == 1 and words[0] in ("doctor", "compare")), printed.out + printed.err
    assert printed.out or printed.err
