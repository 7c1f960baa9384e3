"""The front door: which Python it takes, what it hands over, and what `run.py test` runs."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fake_checkout import CHECKOUT, ENTRANCE, STATUS, call, variables

from kbench.bootstrap import entry, host_environment
from kbench.cli import main


def old_pythons() -> list[str]:
    """The Pythons before 3.11 on this machine: on PATH, and where pyenv keeps its own."""
    names = ["python2.7", *(f"python3.{minor}" for minor in range(4, 11))]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(name) for name in names]
    candidates += [str(path) for name in names for path in pyenv.glob(f"*/bin/{name}")]
    # A version manager's stand-in for a Python that is not chosen here is on PATH and fails.
    return [
        path for path in candidates if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0
    ]


def test_an_old_python_gets_one_sentence_and_status_2() -> None:
    pretend = (
        "import sys, runpy; sys.version_info = (2, 7, 18, 'final', 0); sys.argv[:] = sys.argv[1:];"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    commands = [[sys.executable, "-c", pretend], *([python] for python in old_pythons())]
    for command in commands:
        done = subprocess.run([*command, str(CHECKOUT / "run.py"), "list"], capture_output=True, text=True)
        assert done.returncode == 2, command
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert "Python 3.11 or newer" in done.stderr


def test_a_shell_hands_it_to_python() -> None:
    done = subprocess.run(["sh", str(CHECKOUT / "run.py"), "nosuchcommand"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("kbench: error: ") and done.stderr.count("\n") == 1


@pytest.mark.parametrize("file", ["run.py", "kbench/__main__.py"])
def test_ctrl_c_while_it_is_imported_is_no_traceback(file: str) -> None:
    stop = (
        "import runpy, sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'kbench.errors': raise KeyboardInterrupt\n"
        f"sys.meta_path.insert(0, Stop())\nrunpy.run_path({file!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", stop], capture_output=True, text=True, cwd=CHECKOUT)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_another_system_gets_one_sentence_and_status_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    for command in (entry.main, main.main):
        assert command(["list"]) == 2
        assert capsys.readouterr() == ("", "kbench: error: kbench runs on Linux, and this is darwin.\n")


def test_run_py_has_no_syntax_that_an_old_python_cannot_read() -> None:
    tree = ast.parse((CHECKOUT / "run.py").read_text(encoding="ascii"))
    modern = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Nonlocal, ast.AsyncFunctionDef, ast.Starred)
    for node in ast.walk(tree):
        assert not isinstance(node, modern), ast.dump(node)
        if isinstance(node, ast.FunctionDef):
            assert node.returns is None
            assert not node.args.kwonlyargs
            assert not any(argument.annotation for argument in node.args.args)


def test_the_front_door_imports_nothing_but_the_standard_library() -> None:
    for name in ENTRANCE[2:]:
        for node in ast.walk(ast.parse((CHECKOUT / "kbench" / name).read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for imported in names:
                assert imported.partition(".")[0] in {*sys.stdlib_module_names, "kbench"}, (name, imported)


def test_arguments_working_directory_and_exit_status_are_handed_over(
    checkout: Path, cache: Path, environment: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    (elsewhere / "kbench.py").write_text("raise SystemExit('the wrong kbench')")
    arguments = ["--backends", "a,b", "two words", "*", ""]
    done = call(checkout, variables(cache), *arguments, cwd=elsewhere)
    assert done.stderr == ""
    assert done.returncode == STATUS
    told = json.loads(done.stdout)
    assert told["argv"] == arguments
    assert Path(told["cwd"]) == elsewhere
    assert Path(told["prefix"]) == environment
    assert told["path"][0] == str(checkout)
    assert told["handed_over"] is None


def test_pythonpath_and_safe_path_do_not_change_which_packages_kbench_sees(
    checkout: Path, cache: Path, environment: Path, tmp_path: Path
) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "kbench.py").write_text("raise SystemExit('the wrong kbench')")
    settings = variables(cache, PYTHONPATH=str(foreign), PYTHONSAFEPATH="1")
    done = call(checkout, settings)
    assert done.returncode == STATUS, done.stderr
    assert str(foreign) not in json.loads(done.stdout)["path"]


def test_inside_its_own_environment_nothing_is_handed_over_again(
    checkout: Path, tmp_path: Path, environment: Path
) -> None:
    python = host_environment.python_of(environment)
    unused = tmp_path / "unused"
    done = call(checkout, variables(unused), python=python)
    assert done.returncode == STATUS
    assert not unused.exists()


def test_the_checks_end_with_pytest_and_with_arguments_are_pytest_alone() -> None:
    python = Path(sys.executable)
    every = entry.checks(python, [])
    assert list(every) == [
        "ruff check",
        "ruff format",
        "mypy",
        "mypy of the tests",
        "import-linter",
        "lines",
        "pytest",
    ]
    assert list(entry.checks(python, ["--lint"])) == list(every)[:-1]
    assert entry.checks(python, ["tests/test_x.py", "-k", "y"]) == {
        "pytest": [str(python), "-m", "pytest", "tests/test_x.py", "-k", "y"]
    }


def test_one_failed_check_fails_the_whole_and_the_others_still_run(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def stand_in(status: int) -> list[str]:
        return [sys.executable, "-c", f"print('ran'); raise SystemExit({status})"]

    monkeypatch.setattr(entry, "ensure", lambda *_: Path(sys.executable))
    monkeypatch.setattr(entry, "checks", lambda *_: {"first": stand_in(1), "second": stand_in(0)})
    assert entry.main(["test"]) == 1
    captured = capfd.readouterr()
    assert captured.out.splitlines() == ["== first", "ran", "== second", "ran"]
    assert captured.err == "kbench: failed: first.\n"
    monkeypatch.setattr(entry, "checks", lambda *_: {"second": stand_in(0)})
    assert entry.main(["test"]) == 0


def test_the_last_check_runs_beside_the_others_and_is_shown_whole_after_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # In turn, the first one would wait for ever; and no pipe holds what the last one says meanwhile.
    waits = f"open({str(pipe)!r}).read(); print('first')"
    tells = f"import sys; open({str(pipe)!r}, 'w').close(); print('last\\n' * 99999, flush=True); sys.exit('the end')"
    every = {name: [sys.executable, "-c", code] for name, code in (("waits", waits), ("tells", tells))}
    monkeypatch.setattr(entry, "ensure", lambda *_: Path(sys.executable))
    monkeypatch.setattr(entry, "checks", lambda *_: every)
    assert entry.main(["test"]) == 1
    said = capfd.readouterr()
    assert said.out.split() == ["==", "waits", "first", "==", "tells", *["last"] * 99999, "the", "end"]
    assert said.err == "kbench: failed: tells.\n"


def test_python_m_kbench_works_in_a_checkout() -> None:
    done = subprocess.run([sys.executable, "-m", "kbench", "--help"], cwd=CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--backends" in done.stdout


def test_python_m_kbench_without_its_packages_is_one_sentence(checkout: Path) -> None:
    (checkout / "kbench" / "cli" / "main.py").write_text("import a_package_that_nobody_has\n")
    done = subprocess.run([sys.executable, "-m", "kbench"], cwd=checkout, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "a_package_that_nobody_has" in done.stderr
    assert "run.py" in done.stderr
