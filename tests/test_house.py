"""Checks the rules of CONTRIBUTING.md that a program can check; import-linter checks which module imports which."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import lines_by_feature
from packaging.requirements import Requirement

from kbench.bootstrap import entry

CHECKOUT = Path(__file__).resolve().parent.parent
GUEST_FOLDERS = [CHECKOUT / "kbench" / "guest", *sorted((CHECKOUT / "kbench" / "features").glob("*/guest"))]
GUEST = [path for folder in GUEST_FOLDERS for path in sorted(folder.rglob("*.py"))]
HOST = [path for path in sorted((CHECKOUT / "kbench").rglob("*.py")) if path not in GUEST]
EXAMPLES = sorted((CHECKOUT / "examples_models").rglob("*.py"))
TWINS = sorted((CHECKOUT / "examples_models" / "native").rglob("*.py"))
OTHER = [*sorted((CHECKOUT / "tests").rglob("*.py")), *sorted((CHECKOUT / "benchmarks").rglob("*.py"))]
PYTHON = [CHECKOUT / "run.py", *HOST, *GUEST, *EXAMPLES, *OTHER]

NO_NAME = {"utils", "util", "helpers", "helper", "common", "misc"}
NEWER_THAN_3_6 = {"contextvars", "dataclasses", "graphlib", "tomllib", "zoneinfo"}
STANDARD_LIBRARY = sys.stdlib_module_names - NEWER_THAN_3_6
TYPING_NEWER_THAN_3_6 = ("Annotated", "Final", "Literal", "Protocol", "Self", "TypeAlias", "TypedDict")
NAMES_NEWER_THAN_3_6 = {
    *("importlib.metadata", "importlib.resources"),
    *(f"typing.{name}" for name in TYPING_NEWER_THAN_3_6),
}

# In pieces, so that this file does not break its own rule.
UNFINISHED = "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX"))
LEFT_OUT = "|".join((r"pytest\.sk" + "ip", r"mark\.sk" + "ip", "importor" + "skip", r"mark\.xf" + "ail"))
SKIPS = CHECKOUT / "tests" / "left_out.py"  # the only place that leaves tests out
MACHINE = r"(?<![\w.])/(?:" + "|".join(("ro" + "ot", "wo" + "rk", "op" + "t", "tmp/pro" + "be")) + ")/"
REGISTRY = "|".join(("py" + "pi.org", "python" + "hosted.org", "npm" + "js", "debian" + r"\.org"))
FORBIDDEN = re.compile(rf"\b(?:{UNFINISHED})\b|{LEFT_OUT}|{MACHINE}|{REGISTRY}")


def name_of(path: Path) -> str:
    return path.relative_to(CHECKOUT).as_posix()


def texts() -> list[Path]:
    """The project's texts: what people wrote, and the lock files."""
    folders = ("backends", "benchmarks", "docs", "examples_models", "kbench", "requirements", "tests")
    paths = [*CHECKOUT.iterdir(), *(CHECKOUT / ".ci").iterdir(), *(CHECKOUT / ".github").rglob("*")]
    paths += [path for folder in folders for path in (CHECKOUT / folder).rglob("*")]
    binary = {".png", ".pyc", ".gz", ".npz", ".npy"}
    foreign = CHECKOUT / "kbench" / "report" / "vendor"
    return sorted(
        path
        for path in paths
        if path.is_file()
        and path.name != ".git"  # in a worktree it is a file, and no text of the project's
        and path.suffix not in binary
        and not (path.parent == foreign and path.suffix == ".js")
    )


def imports(tree: ast.AST) -> set[str]:
    """The full names of the modules that a piece of code imports, wherever in it."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def backend_names() -> set[str]:
    return {file.stem for file in (CHECKOUT / "backends").glob("*/*.toml")}


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def python36() -> list[str]:
    """Python 3.6 where there is one: on PATH, or where pyenv keeps it."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = ["python3.6", *map(str, pyenv.glob("3.6.*/bin/python"))]
    found = []
    for python in candidates:
        try:
            if subprocess.run([python, "-c", ""], capture_output=True).returncode == 0:
                found.append(python)
        except FileNotFoundError:
            continue
    return found[:1]


def test_there_is_something_to_check() -> None:
    for group in (HOST, GUEST, EXAMPLES):
        assert group


def test_guest_and_examples_are_python_36_syntax() -> None:
    for path in (*GUEST, *EXAMPLES):
        text = path.read_text(encoding="utf-8")
        ast.parse(text, name_of(path), feature_version=(3, 6))
        assert "from __future__ import annotations" not in text, name_of(path)


def test_guest_and_examples_compile_on_a_real_python_36() -> None:
    compile_all = "import sys\nfor p in sys.argv[1:]: compile(open(p, encoding='utf-8').read(), p, 'exec')"
    for python in python36():
        done = subprocess.run([python, "-c", compile_all, *GUEST, *EXAMPLES], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_the_guest_imports_the_standard_library_numpy_and_keras_alone() -> None:
    packages = {path.name for folder in GUEST_FOLDERS for path in folder.iterdir() if path.is_dir()}
    allowed = STANDARD_LIBRARY | {"numpy", "keras", *packages}
    for path in GUEST:
        tree = parse(path)
        # A function may ask the module that Keras itself has loaded: to wait for a device, to name it.
        inside = {name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for name in imports(node)}
        for module in imports(tree):
            root = module.partition(".")[0]
            knows_them = path.parent.name == "frameworks" or "features" in path.parts
            of_frameworks = knows_them and root in backend_names() and module in inside
            assert root in allowed or of_frameworks, (name_of(path), module)
            assert module not in NAMES_NEWER_THAN_3_6, (name_of(path), module)


def test_an_example_imports_keras_and_numpy_and_nothing_of_kbench() -> None:
    """A program also what its header installs, and the example whose model it trains."""
    for path in set(EXAMPLES) - set(TWINS):
        more = {"PIL", "densenet121_chestxray"} if path.parent.name == "programs" else set()
        roots = {module.partition(".")[0] for module in imports(parse(path))}
        assert roots <= STANDARD_LIBRARY | {"numpy", "keras"} | more, name_of(path)


def test_a_twin_imports_its_framework_and_neither_keras_nor_kbench_and_is_short() -> None:
    assert TWINS
    for path in TWINS:
        roots = {module.partition(".")[0] for module in imports(parse(path))}
        assert not roots & {"keras", "kbench", "kbench_guest"}, name_of(path)
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 100, name_of(path)


def test_the_host_imports_nothing_of_the_guest() -> None:
    for path in HOST:
        found = [module for module in imports(parse(path)) if module.startswith(("kbench.guest", "kbench_guest"))]
        assert found == [], name_of(path)


def test_a_wrong_import_in_the_guest_is_refused_by_the_linter(tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "kbench", tmp_path / "kbench")
    shutil.copy(CHECKOUT / "pyproject.toml", tmp_path)
    command = entry.checks(Path(sys.executable), ["--lint"])["import-linter"]
    kept = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert kept.returncode == 0, kept.stdout
    for importer, line in {
        "sketches": "from kbench_guest.training import epochs",  # upwards
        "turns": "def late(): from kbench_guest import parts",  # to a room beside it
        "proof.weights": "import kbench_guest.proof.forms",  # a ring, with the next
        "proof.forms": "import kbench_guest.proof.weights",
        "nowhere": "",  # a module without a place
    }.items():
        file = tmp_path / "kbench" / "guest" / "kbench_guest" / f"{importer.replace('.', '/')}.py"
        file.write_text((file.read_text(encoding="utf-8") if file.exists() else "") + f"\n{line}\n", encoding="utf-8")
    broken = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert broken.returncode == 1
    for said in (
        "kbench_guest.sketches -> kbench_guest.training.epochs",
        "kbench_guest.turns -> kbench_guest.parts",
        "No cycles are allowed in kbench_guest.proof.",
        "kbench_guest.nowhere",
    ):
        assert said in broken.stdout


def test_only_the_command_line_and_its_commands_see_argparse() -> None:
    seeing = ("cli", "commands", "features", "hooks.py", "additions.py")
    for path in HOST:
        below = path.relative_to(CHECKOUT / "kbench").parts[0] not in seeing
        assert not (below and "argparse" in imports(parse(path))), name_of(path)


def test_what_measures_prints_nothing() -> None:
    for path in (CHECKOUT / "kbench" / "session").glob("*.py"):
        called = {
            node.func.id
            for node in ast.walk(parse(path))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert "print" not in called, name_of(path)


# The core may shrink. Whatever is added is a feature, or it is in the way of everybody.
CORE_LINES = {"core, host": 27_850, "core, guest": 6_165}


def test_the_core_does_not_grow() -> None:
    lines = lines_by_feature.counted()
    for name, most in CORE_LINES.items():
        assert lines[name] <= most, name
    assert all(name.startswith("feature ") for name in {*lines} - {*CORE_LINES})


def test_the_core_imports_no_feature() -> None:
    for path in HOST:
        if path.relative_to(CHECKOUT / "kbench").parts[0] != "features":
            found = [module for module in imports(parse(path)) if module.startswith("kbench.features")]
            assert found == [], name_of(path)


def own_libraries() -> set[str]:
    """What the host is written with: a backend of the same name cannot be told from it."""
    about = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    return {Requirement(one).name for one in about["project"]["dependencies"]}


def test_no_backend_is_named_in_host_code() -> None:
    names = backend_names() - own_libraries()
    assert names
    word = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b", re.IGNORECASE)
    found = []
    for path in HOST:
        text = re.sub(r"https://\S+", "", path.read_text(encoding="utf-8"))  # an address names no backend
        lines = enumerate(text.splitlines(), 1)
        found += [f"{name_of(path)}:{number}: {line}" for number, line in lines if word.search(line)]
    assert found == []


def test_a_module_says_in_its_first_line_why_it_exists() -> None:
    for path in PYTHON:
        tree = parse(path)
        assert ast.get_docstring(tree), f"{name_of(path)} has no docstring"
        first = 2 if path.read_text(encoding="utf-8").startswith("#!") else 1
        assert tree.body[0].lineno == first, name_of(path)


def test_a_file_has_one_reason_to_exist() -> None:
    assert [name_of(path) for path in PYTHON if path.stem in NO_NAME] == []


def test_nothing_unfinished_left_out_or_bound_to_a_machine_is_written_anywhere() -> None:
    found = []
    for path in texts():
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            match = FORBIDDEN.search(line)
            if match and not (path == SKIPS and re.fullmatch(LEFT_OUT, match.group())):
                found.append(f"{name_of(path)}:{number}: {match.group()}")
    assert found == []


def test_the_readme_is_short() -> None:
    assert len((CHECKOUT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_links_between_the_docs_lead_to_files_that_git_keeps() -> None:
    targets = set()
    for page in [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *(CHECKOUT / "docs").glob("*.md")]:
        links = re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text(encoding="utf-8"))
        written = [link for link in links if not link.startswith("reference/")]  # those are made from the code
        assert [link for link in written if not (page.parent / link).exists()] == [], name_of(page)
        targets |= {name_of((page.parent / link).resolve()) for link in written}
    command = ["git", "check-ignore", "--stdin"]
    ignored = subprocess.run(command, cwd=CHECKOUT, input="\n".join(targets), capture_output=True, text=True)
    assert ignored.stdout == ""


def test_ci_runs_the_commands_that_the_readme_gives() -> None:
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    assert "python run.py --backends tensorflow,cntk,theano" in readme
    assert "python run.py test" in readme
    assert (CHECKOUT / ".ci" / "run").read_text(encoding="utf-8").splitlines()[-1] == "python run.py test"
    workflow = (CHECKOUT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert "run: python run.py test\n" in workflow
    assert "run: python run.py --backends tensorflow,cntk,theano" in workflow


def test_the_tests_that_the_suite_leaves_out_are_run_each_week_and_before_a_release() -> None:
    folder = CHECKOUT / ".github" / "workflows"
    weekly = (folder / "thorough.yml").read_text(encoding="utf-8")
    assert "  schedule:\n" in weekly and "  workflow_call:\n" in weekly
    assert "run: python run.py test -m thorough -n 2\n" in weekly
    release = (folder / "release.yml").read_text(encoding="utf-8")
    assert "uses: ./.github/workflows/thorough.yml\n" in release and "needs: [build, thorough]\n" in release
