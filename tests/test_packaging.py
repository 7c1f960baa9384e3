"""`pip install .` gives the same files and the same command, and the lock files agree with pyproject.toml."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kbench.version import __version__

CHECKOUT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)(?: ; (.*?))? \\$", re.MULTILINE)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source distribution, built here without a network."""
    folder = tmp_path_factory.mktemp("built")
    script = (
        "import sys; from hatchling import build;"
        "print(build.build_wheel(sys.argv[1])); print(build.build_sdist(sys.argv[1]))"
    )
    done = subprocess.run([sys.executable, "-c", script, str(folder)], cwd=CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def files_under(folder: str, *suffixes: str) -> set[str]:
    paths = (CHECKOUT / folder).rglob("*")
    return {path.relative_to(CHECKOUT).as_posix() for path in paths if path.suffix in suffixes}


def test_the_wheel_holds_the_host_the_guest_the_backends_with_their_locks_and_the_examples(
    built: Path,
) -> None:
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    data = files_under("backends", ".toml", ".lock", ".c") | files_under("examples_models", ".py")
    data |= (
        files_under("suites", ".toml")
        | files_under("results/published", ".csv", ".md")
        | files_under("datasets", ".gz", ".md")
    )
    assert data
    assert {f"kbench/_data/{name}" for name in data} <= names
    assert files_under("kbench", ".py", ".txt", ".js", ".css", ".j2", ".LICENSE") | {"kbench/py.typed"} <= names
    assert not [name for name in names if name.startswith(("tests/", "results/")) or "__pycache__" in name]


def test_the_source_distribution_holds_what_the_checks_need(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    wanted = {"run.py", "pyproject.toml", "README.md", "LICENSE", "requirements/host.lock"}
    assert wanted | files_under("tests", ".py") | files_under("backends", ".toml", ".lock", ".c") <= names


def test_installed_by_pip_kbench_is_a_command_that_finds_its_files_from_anywhere(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    folder = tmp_path / "installed"
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    site = Path(output([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], tmp_path))
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--offline", "--no-deps"]
    output([*uv, "--python", python, wheel], tmp_path)
    # The dependencies are the ones of the running environment.
    (site / "dependencies.pth").write_text("\n".join(entry for entry in sys.path if "site-packages" in entry))
    assert "--backends" in output([folder / "bin" / "kbench", "--help"], tmp_path)
    script = "from kbench.base import paths; print(*sorted(p.stem for p in paths.project_folder(NAME).glob(GLOB)))"
    for name, glob in (("backends", "*/*.toml"), ("datasets", "*/*.gz"), ("examples_models", "*.py")):
        found = output([python, "-c", script.replace("NAME", repr(name)).replace("GLOB", repr(glob))], tmp_path)
        assert found.split() == sorted(path.stem for path in (CHECKOUT / name).glob(glob))


def output(command: list[str | Path], folder: Path) -> str:
    """What a command prints when it is run in `folder`, and ends well."""
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def pins(name: str) -> dict[tuple[str, str], str]:
    """(project, marker) -> version of requirements/<name>.lock."""
    text = (CHECKOUT / "requirements" / f"{name}.lock").read_text(encoding="utf-8")
    return {(project, marker): version for project, version, marker in PIN.findall(text)}


def test_the_locks_pin_all_that_pyproject_asks_for() -> None:
    host = PROJECT["project"]["dependencies"]
    for lock, wanted in (("host", host), ("test", [*host, *PROJECT["dependency-groups"]["test"]])):
        locked = pins(lock)
        for requirement in map(Requirement, wanted):
            project = canonicalize_name(requirement.name)
            versions = [version for (name, _), version in locked.items() if name == project]
            assert versions, f"{requirement} is not in {lock}.lock"
            assert all(requirement.specifier.contains(version) for version in versions), requirement


def test_the_tests_run_with_the_versions_that_users_get() -> None:
    host, test = pins("host"), pins("test")
    everywhere = {(project, marker): test.get((project, "")) for project, marker in host}
    assert {key: test.get(key, everywhere[key]) for key in host} == host


@pytest.mark.parametrize("name", ["host", "test"])
def test_a_lock_has_a_hash_for_every_version_and_no_address(name: str) -> None:
    text = (CHECKOUT / "requirements" / f"{name}.lock").read_text(encoding="utf-8")
    blocks = re.split(r"(?m)^(?=[A-Za-z0-9])", text)[1:]
    assert len(blocks) == len(pins(name))
    assert all("--hash=sha256:" in block for block in blocks)
    assert "://" not in text
    assert not re.search(r"(?m)^-", text)


def test_only_a_tag_of_a_dated_version_is_released(tmp_path: Path) -> None:
    workflow = yaml.safe_load((CHECKOUT / ".github/workflows/release.yml").read_text("utf-8"))
    steps = workflow["jobs"]["build"]["steps"]
    (check,) = (step["run"] for step in steps if step.get("name", "").startswith("The tag is the version"))
    (tmp_path / "kbench").mkdir()
    shutil.copy(CHECKOUT / "kbench/version.py", tmp_path / "kbench")
    text = (CHECKOUT / "CHANGELOG.md").read_text("utf-8")

    def released(tag: str, changelog: str) -> bool:
        (tmp_path / "CHANGELOG.md").write_text(changelog, "utf-8")
        command = ["bash", "-e", "-c", check]
        return subprocess.run(command, cwd=tmp_path, env={**os.environ, "GITHUB_REF_NAME": tag}).returncode == 0

    section = re.compile(rf"(?m)^## \[{re.escape(__version__)}\] - .*$")
    assert section.search(text), "the version has a section"
    dated, undated = (section.sub(f"## [{__version__}] - {when}", text) for when in ("2026-11-28", "unreleased"))
    assert released(f"v{__version__}", dated)
    assert not released(f"v{__version__}", undated)
    assert not released("v99.0.0", dated)


def test_who_cites_kbench_cites_this_version() -> None:
    assert yaml.safe_load((CHECKOUT / "CITATION.cff").read_text("utf-8"))["version"] == __version__


@pytest.mark.parametrize(
    "form", sorted((CHECKOUT / ".github/ISSUE_TEMPLATE").glob("*.yml")), ids=lambda form: form.stem
)
def test_a_form_for_issues_asks_for_what_it_names(form: Path) -> None:
    asked = yaml.safe_load(form.read_text("utf-8"))
    assert asked["name"] and asked["description"]
    fields = [field for field in asked["body"] if field["type"] == "textarea"]
    assert len({field["id"] for field in fields}) == len(fields) and all(
        field["attributes"]["label"] for field in fields
    )
