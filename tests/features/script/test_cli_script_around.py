"""`script`: what surrounds a user's program: the processes that it starts, and how its errors are shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_bench import Bench, Said

from kbench import store

WRONG = "import sys\nprint('--lr is missing', file=sys.stderr)\nsys.exit(2)\n"
READS = "import keras\nopen('data/no.csv')\n"
MISSES = "line 2: FileNotFoundError: [Errno 2] No such file or directory: 'data/no.csv'"


def measure(bench: Bench, path: Path, *options: str) -> Said:
    asked = ("--backends", "fake", "--repeats", "1", "--device", "cpu", "--no-plots")
    return bench("script", str(path), *asked, *options)


def script(bench: Bench, text: str) -> Said:
    return measure(bench, bench.example("train.py", "import os\nimport sys\n\nimport keras\n" + text))


def fate(bench: Bench) -> tuple[str, str]:
    (one,) = bench.fates().values()
    return one


def test_a_file_that_is_not_valid_python_is_named(bench: Bench) -> None:
    said = script(bench, "open('newer.py', 'w').write('import sys\\ndef f(:\\n')\nimport newer\n")
    assert said.status == 1
    assert fate(bench)[1].startswith("newer.py, line 2 is not valid in Python 3."), fate(bench)
    script(bench, "compile('def f(:', '/elsewhere/site-packages/some/module.py', 'exec')\n")
    assert fate(bench)[1].startswith("some/module.py, line 1 is not valid in Python 3."), fate(bench)


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        (WRONG, (), "ended with exit status 2: --lr is missing; its own arguments follow --"),
        (f"import keras\n{WRONG}", (), "ended with exit status 2: --lr is missing; its own arguments follow --"),
        (WRONG, ("--", "--l"), "ended with exit status 2: --lr is missing"),
        (READS, (), f"{MISSES}; it runs in a copy of HERE: put the file there, or give its whole path"),
        (READS, ("--workdir", "same"), f"{MISSES}; it runs in HERE"),
        ("open('/no.csv')\n", (), "line 1: FileNotFoundError: [Errno 2] No such file or directory: '/no.csv'"),
        (
            "import kbench\n",
            (),
            "line 1: ModuleNotFoundError: No module named 'kbench'; a program that kbench measures does without it",
        ),
    ],
)
def test_what_it_lacks_is_said_and_not_to_try_again(
    bench: Bench, text: str, options: tuple[str, ...], reason: str
) -> None:
    said = measure(bench, bench.example("train.py", text), *options)
    assert fate(bench) == ("failed", reason.replace("HERE", str(bench.folder)))
    assert "resume" not in said.out


def test_no_frame_of_kbench_is_shown(bench: Bench) -> None:
    text = "def f():\n    import nothing_like_this\n\ntry:\n    f()\nexcept ImportError:\n    raise KeyError(1)\n"
    script(bench, text)
    (one,) = bench.last().measured
    log = store.cell_folder(bench.runs()[-1], one.cell).log.read_text()
    assert log.count("Traceback (most recent call last):") == 2 and "import nothing_like_this" in log
    assert "kbench_guest" not in log and "importlib" not in log
    script(bench, "sys.excepthook = lambda *error: print('mine', error[0].__name__)\n1 / 0\n")
    (one,) = bench.last().measured
    assert store.cell_folder(bench.runs()[-1], one.cell).stdout.read_text() == "mine ZeroDivisionError\n"


CHILD = """import multiprocessing
import os
import subprocess
import sys

os.environ["KERAS_BACKEND"] = "another"


def child(said):
    import keras

    said.put(keras.backend.backend())


if __name__ == "__main__":
    for how in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(how)
        said = context.Queue()
        process = context.Process(target=child, args=(said,))
        process.start()
        print(how, said.get(timeout=60))
        process.join()
    own = "import os; os.environ['KERAS_BACKEND'] = 'another'; import keras; print('own', keras.backend.backend())"
    subprocess.run([sys.executable, "-c", own], check=True)
    import keras

    print(keras.backend.backend(), os.environ["KERAS_BACKEND"])
"""


def test_processes_that_it_starts_have_the_backend_that_was_asked_for(bench: Bench) -> None:
    said = measure(bench, bench.example("starts.py", CHILD), "--show-output")
    assert said.status == 0, said.err
    printed = [line for line in said.out.splitlines() if line.endswith(("theano", "another"))]
    assert sorted(printed) == ["fork theano", "forkserver theano", "own theano", "spawn theano", "theano another"]
    (one,) = bench.last().measured
    (note,) = one.facts.notes
    assert note == "KERAS_BACKEND=another is ignored: this runs on theano, as kbench was asked"
