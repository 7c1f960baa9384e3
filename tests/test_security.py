"""Text from results is never run or shown as markup, and the user's secrets and files stay private."""

from __future__ import annotations

import ast
import csv
import html
import os
import re
import stat
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from fake_bench import EXAMPLE, Bench, events_of
from fake_runs import PROVENANCE, cell, learning, plan, write_events

from kbench import store
from kbench.environments import installers
from kbench.outputs import one_run
from kbench.outputs.one_run import file_name
from kbench.outputs.told import ToldRun
from kbench.records.values import OK, Outcome
from kbench.tables.grid import Grid, printed
from kbench.tables.markdown import escape

CHECKOUT = Path(__file__).resolve().parent.parent
DEBIAN_LOCKS = sorted((CHECKOUT / "backends").rglob("*.debian.lock"))
LOCKS = [
    *(lock for lock in sorted((CHECKOUT / "backends").rglob("*.lock")) if lock not in DEBIAN_LOCKS),
    *sorted((CHECKOUT / "requirements").glob("*.lock")),
]
CODE = [*sorted((CHECKOUT / "kbench").rglob("*.py")), CHECKOUT / "run.py"]

CELL_ENDS = re.compile(r"(?<!\\)\|")

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "&lt;script&gt;",
    "[x](javascript:alert(1))",
    "![x](https://evil.example/x.png)",
    "[x]: https://evil.example",
    "| a | b |",
    "# head",
    "- item",
    "+ item",
    "1. one",
    "1) one",
    "---",
    "===",
    "> quoted",
    "```",
    "`code`",
    "*bold* _it_ ~~gone~~ $x$",
    "a\n\n# b",
    "a\x1b[31mred\x07",
    "\u202etxt.exe",
    "../../etc/passwd",
    "=cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "+1",
    "\uff1d1+1",
    "%s %n {0} {{7*7}}",
    "\\input{x}",
    "\\input{/etc/passwd}",
    "\\write18{id}",
    "^^5cinput{x}",
    "100 % of it",
    "a & b \\\\ \\hline",
    "\\end{tabular}\\end{table}",
    "[9cm]",
    "#1 _x_ {",
]


DRAWN = ("<script>alert(1)</script>", "a\n\n# b", "../../etc/passwd", "*bold* _it_ ~~gone~~ $x$")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which every name, note and reason is hostile."""
    run = write_run(tmp_path_factory.mktemp("hostile"), HOSTILE)
    one_run.rebuild(ToldRun(store.read(run)), plots=False)
    return run


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few such names, with its plots: to draw all takes ten times as long."""
    run = write_run(tmp_path_factory.mktemp("drawn"), DRAWN)
    one_run.rebuild(ToldRun(store.read(run)))
    return run


def write_run(parent: Path, texts: Sequence[str]) -> Path:
    cells = [cell(text, f"keras9/{text}") for text in texts]
    run = store.create(
        parent,
        plan(cells),
        PROVENANCE | {"command_line": "run.py ``` <b>", "cpu": {"model": "<script>|`", "visible": 2}},
    )
    for one in cells:
        told = [*learning(one, 1.0), {"event": "note", "text": one.example}]
        told[2]["backend_version"] = told[2]["keras_version"] = one.example
        write_events(run, one, told)
        store.write_outcome(run, one, Outcome(OK) if len(one.example) % 2 else Outcome("failed", one.example))
    return run


def test_nothing_that_comes_from_results_is_html_in_the_page(hostile: Path) -> None:
    page = (hostile / "summary.md").read_text("utf-8")
    without_code = re.sub(r"(?m)^Command: .*$", "", page)
    assert "<" not in without_code
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    # What was an entity before is one more time escaped: it shows as it was.
    assert "&amp;lt;script" in page
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)


def test_nothing_that_comes_from_results_is_a_tag_in_the_report(hostile: Path) -> None:
    report = (hostile / "report.html").read_text("utf-8")
    for text in HOSTILE:
        if text.startswith("<"):
            assert text not in report


def test_nothing_that_comes_from_results_is_a_command_a_comment_or_the_end_of_a_cell_in_latex(hostile: Path) -> None:
    first, *lines = (hostile / "summary.tex").read_text("utf-8").splitlines()
    assert first == "% Needs \\usepackage{booktabs}"
    text = "\n".join(lines)
    assert r"\textbackslash{}input\{/etc/passwd\}" in text and r"100 \% of it" in text
    own = r"\\(?:(?:begin|end)\{(?:table|tabular)\}|(?:top|mid|bottom)rule|centering|small\b|par\\smallskip|"
    own += r"footnotesize|raggedright|caption|label|text\w+\{\}|ldots\{\}|\(|\)|pm|[&%$#_{}\\])"
    without = re.sub(own, "", text)
    assert not re.search(r"[\\%$#_^~]", without), re.findall(r".*[\\%$#_^~].*", without)
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == text.count(r"\caption{") == len(HOSTILE)
    cells = [len(re.findall(r"(?<!\\)&", line)) for line in lines if line.endswith(r"\\") and " & " in line]
    assert len(cells) == 2 * len(HOSTILE) and cells[::2] == cells[1::2]  # a head and a row each
    assert not re.search(r"\\\\\s*\[", text)


def test_nothing_that_comes_from_results_is_a_link_or_a_picture_of_elsewhere(hostile: Path, drawn: Path) -> None:
    for run in (hostile, drawn):
        page = (run / "summary.md").read_text("utf-8")
        links = re.findall(r"(?<!\\)\]\(([^)]*)\)", page)
        assert bool(links) == (run == drawn)
        assert all(re.fullmatch(r"plots/[A-Za-z0-9_][A-Za-z0-9._-]*\.png", link) for link in links)
        assert not re.search(r"(?m)^\[", page)


def test_nothing_that_comes_from_results_is_a_heading_or_ends_a_cell(hostile: Path) -> None:
    lines = (hostile / "summary.md").read_text("utf-8").splitlines()
    headings = [line for line in lines if line.startswith("#")]
    examples = [line for line in headings if line.startswith("## ") and line.endswith(", cpu, channels_last)")]
    assert len(examples) == len(HOSTILE)
    for line in set(headings) - set(examples):  # the page's own
        assert line == f"# kbench: {hostile.name}" or re.fullmatch(r"##+ [A-Z][A-Za-z ]+", line)
    for before, line in pairwise(lines):
        if before.startswith("|") and line.startswith("|"):
            assert len(CELL_ENDS.findall(line)) == len(CELL_ENDS.findall(before)), line
    assert not [line for line in lines if re.match(r"[-=]{2,}$|[>+]", line)]


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_text_shows_as_it_was_on_one_line(text: str) -> None:
    shown = html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", escape(text)))
    kept = re.sub(r"\x1b\[31m|[\x00-\x1f\u202a-\u202e]+", lambda found: "" if "31m" in found[0] else " ", text)
    assert shown == " ".join(kept.split())
    assert "\n" not in shown


def test_pictures_are_written_below_the_run_alone_under_names_that_are_harmless(drawn: Path) -> None:
    written = {path.relative_to(drawn) for path in drawn.rglob("*") if path.is_file()}
    plots = [path for path in written if path.parts[0] == "plots"]
    assert len(plots) >= 2 * len(DRAWN)
    names = [path.name for path in plots] + [f"{file_name(text)}.png" for text in HOSTILE]
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*\.(png|svg)", name) for name in names)
    for path in plots:
        if path.suffix == ".svg":
            assert "<script" not in (drawn / path).read_text("utf-8")


@pytest.mark.parametrize("name", ["summary.csv", "epochs.csv"])
def test_no_cell_of_a_csv_file_is_a_formula_and_numbers_stay_numbers(hostile: Path, name: str) -> None:
    with (hostile / name).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    texts = [value for row in rows for value in row.values()]
    for value in texts:
        if value[:1] in ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d"):
            float(value)
    assert any(value.startswith("'=cmd") for value in texts)
    assert all(float(row["seconds"]) > 0 for row in rows if "seconds" in row)


@pytest.mark.processes
def test_an_example_named_script_is_measured_and_stays_text(bench: Bench) -> None:
    name = "<script>alert(1)<!--"
    bench.example(f"{name}.py")
    assert bench.measure(examples=f"{name}.py").status == 0
    (run,) = bench.runs()
    page = (run / "summary.md").read_text("utf-8")
    assert "<" not in re.sub(r"(?m)^Command: `[^`]+`$", "", page)  # code shows as it is
    assert [one.cell.example for one in bench.last().measured] == [name]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_package_of_every_lock_file_has_a_hash(lock: Path) -> None:
    text = re.sub(r"(?m)^#.*\n", "", lock.read_text("utf-8"))
    packages = [block for block in re.split(r"(?m)^(?=\S)", text) if block.strip()]
    assert packages
    for block in packages:
        assert re.match(r"[A-Za-z0-9._-]+==\S+", block), block  # no address, no file, no option
        assert re.findall(r"--hash=sha256:[0-9a-f]{64}\b", block), block


@pytest.mark.parametrize("lock", DEBIAN_LOCKS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_every_package_of_debian_has_a_hash_and_a_path_below_the_mirror(lock: Path) -> None:
    lines = lock.read_text("utf-8").splitlines()
    assert lines and lines == sorted(lines, key=lambda line: line.split()[1])
    for line in lines:
        assert re.fullmatch(
            r"[0-9a-f]{64}  pool/main/[a-z0-9]+/[a-z0-9.+-]+/[A-Za-z0-9.+~%_-]+_(amd64|all)\.deb", line
        )


def test_installers_ask_for_every_hash() -> None:
    texts = {
        name: (CHECKOUT / "kbench" / name).read_text()
        for name in ("environments/installers.py", "bootstrap/make_host_environment.py")
    }
    assert all("--require-hashes" in text for text in texts.values())


@pytest.mark.processes
def test_nothing_listens_on_a_port(bench: Bench) -> None:
    """Neither the host nor, as far as it is kbench's, the guest."""
    heard: list[str] = []
    watching = [True]

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event in ("socket.bind", "socket.connect", "socket.sendto"):
            heard.append(f"{event} {arguments[1:]}")

    sys.addaudithook(watch)
    guest = "import sys as s\ns.addaudithook(lambda e, a: print('heard', e) if e.startswith('socket.') else None)\n"
    bench.example("my_example.py", EXAMPLE.replace("from keras", f"{guest}\nfrom keras", 1))
    try:
        assert bench.measure().status == 0
        assert bench("report").status == 0
    finally:
        watching.clear()
    assert heard == []
    (log,) = bench.runs()[0].glob("cells/*/log.txt")
    assert "heard" not in log.read_text()


def test_no_code_opens_a_port() -> None:
    for path in CODE:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
                # A pipe to a process of its own is no port; a manager or a listener is one.
                servers = ("socketserver", "http.server", "xmlrpc", "asyncio", "multiprocessing.managers")
                found = {name for name in names if name.startswith(servers)}
                assert found <= ({"asyncio"} if path.name == "make_python.py" else set()), path  # of a client
            if isinstance(node, ast.Attribute):
                # Workers of one training find each other at ports of 127.0.0.1.
                free = {"bind", "listen"} if path.name in ("workers.py", "processes.py") else set()
                assert node.attr not in {"listen", "bind", "mktemp", "Listener", "Manager"} - free, path


@pytest.mark.processes
def test_nothing_is_left_in_the_folder_for_temporary_files(bench: Bench, tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    bench.patch.setenv("TMPDIR", str(temporary))
    bench.patch.setattr("tempfile.tempdir", None)
    assert bench.measure().status == 0
    assert list(temporary.iterdir()) == []


def test_no_name_in_a_folder_that_all_share_is_known_beforehand() -> None:
    for path in CODE:
        strings = [
            node.value
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        assert not [text for text in strings if re.search(r"(?<![\w.])/(?:var/)?tmp\b|/dev/shm", text)], path


@pytest.mark.processes
def test_no_file_of_a_run_is_for_all_to_write(bench: Bench) -> None:
    before = os.umask(0o022)
    try:
        assert bench.measure().status == 0
    finally:
        os.umask(before)
    written = [bench.runs()[0], *bench.runs()[0].rglob("*")]
    assert not [path for path in written if path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)]


@pytest.mark.processes
def test_a_variable_that_the_user_names_reaches_the_guest_and_its_name_alone_is_kept(bench: Bench) -> None:
    bench.patch.setenv("MY_LICENCE", "hunter2")
    bench.patch.setenv("MY_OTHER", "hunter3")
    bench.example("my_example.py", EXAMPLE + "\nimport os\n\nassert os.environ['MY_LICENCE'] == 'hunter2'\n")
    assert bench.measure().status == 1
    assert bench.measure("--pass-env", "MY_LICENCE", "--name", "passed").status == 0
    texts = [path.read_text("utf-8", "replace") for path in (bench.results / "passed").rglob("*") if path.is_file()]
    texts = [text for text in texts if "assert os.environ" not in text]
    assert not [text for text in texts if "hunter" in text]
    assert bench.last().request["pass_env"] == ["MY_LICENCE"]
    assert events_of(bench.results / "passed")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("MY_LICENCE=hunter2", "takes only the name of a variable, 'MY_LICENCE'"),
        ("KERAS_BACKEND", "its own keras.json"),
        ("keras_home", "its own keras.json"),
        ("NOT_SET_ANYWHERE", "there is no such environment variable"),
        ("", "there is no such environment variable"),
    ],
)
def test_a_wrong_variable_is_one_sentence_that_repeats_no_value(bench: Bench, name: str, words: str) -> None:
    for command in ((), ("parity",)):
        said = bench(
            *command, "--backends", "fake", "--examples", "my_example.py", "--device", "cpu", "--pass-env", name
        )
        assert said.status == 2 and words in said.err and said.err.count("\n") == 1
        assert "hunter2" not in said.err
    assert bench.runs() == []


@pytest.mark.processes
def test_a_password_in_the_address_of_an_index_is_not_kept(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('error: https://ada:hunt' 'er2@index.example/x'); raise SystemExit(1)"]
    with pytest.raises(installers.InstallFailed) as failed:
        installers.run(command, tmp_path / "log", os.environ, tmp_path, 60)
    assert str(failed.value) == "https://***@index.example/x"
    assert "hunter2" not in (tmp_path / "log").read_text()


def test_no_cell_of_a_comparison_as_csv_is_a_formula() -> None:
    shown = printed({"a": Grid(("example", "ratio"), (("=cmd|x", "-1.5"), ("@x", "-")))}, "csv")
    assert shown.splitlines()[1:] == ["'=cmd|x,-1.5", "'@x,-"]


@pytest.mark.processes
def test_an_installer_may_work_in_a_folder_whose_name_is_no_text(tmp_path: Path) -> None:
    installers.run([sys.executable, "-c", "", os.fsdecode(b"\xff")], tmp_path / "log", os.environ, tmp_path, 60)
    assert "\\udcff" in (tmp_path / "log").read_text()
