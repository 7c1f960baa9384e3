"""`script`: what surrounds a user's program: the processes that it starts, and how its errors are shown."""

from __future__ import annotations

from pathlib import Path

from fake_bench import Bench, Said

from kbench import store


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
