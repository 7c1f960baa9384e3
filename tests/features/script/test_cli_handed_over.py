"""`script` and `parity --script` take a program as people have it: a module, a folder, a notebook."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_bench import Bench, Said, refused
from test_cli_script import BEGIN, fate, measure

from kbench import store


def package(bench: Bench, main: str = "import os, sys\nfrom . import model\nmodel.fit(3)\n") -> Path:
    folder = bench.folder / "trainer"
    folder.mkdir()
    for name, text in (
        ("__init__", ""),
        ("__main__", main),
        ("model", BEGIN),
        ("task", "from .model import fit\nfit(2)\n"),
    ):
        (folder / f"{name}.py").write_text(text)
    return folder


def notebook(bench: Bench, *cells: str, name: str = "train.ipynb", **metadata: object) -> Path:
    path = bench.folder / name
    made = [{"cell_type": "code", "source": one.splitlines(True), "outputs": []} for one in cells]
    made.insert(0, {"cell_type": "markdown", "source": "# Not code (:"})
    path.write_text(json.dumps({"cells": made, "metadata": metadata, "nbformat": 4}))
    return path


def module(bench: Bench, name: str, *options: str) -> Said:
    return bench(
        "script", "-m", name, "--backends", "fake", "--repeats", "1", "--device", "cpu", "--no-plots", *options
    )


def log(bench: Bench) -> str:
    (one,) = bench.last().measured
    return store.cell_folder(bench.runs()[-1], one.cell).log.read_text()


LINE = BEGIN.count("\n")


@pytest.mark.parametrize("how", ["-m", "folder"])
def test_a_package_runs_as_python_runs_it(bench: Bench, how: str) -> None:
    named = "print(__name__, __package__, __spec__.name, sys.argv[1:], sys.path[0][-5:])"
    text = f"import sys\nfrom . import model\n{named}\nmodel.fit(3)\n"
    folder = package(bench, text)
    asked = ("--show-output", "--", "--epochs", "9")
    said = module(bench, "trainer", *asked) if how == "-m" else measure(bench, folder, *asked)
    assert said.status == 0, said.err
    assert "\n__main__ trainer trainer.__main__ ['--epochs', '9'] files\n" in said.out
    assert f"trainer: fit, trainer{'/'}model.py line {LINE} (40 samples, 3 epochs" in said.out
    assert bench("resume", "--retry", "failed").status == 0
    assert bench.last().request["script"]["module"] == "trainer"


def test_a_module_of_a_package_runs_and_is_compared(bench: Bench) -> None:
    package(bench)
    bench.backend("keras9/second")
    assert "trainer.task: fit, " in module(bench, "trainer.task").out
    said = bench("parity", "-m", "trainer.task", "--backends", "fake,keras9/second", "--device", "cpu")
    assert said.status == 0 and "trainer.task" in said.out, said.err


def test_an_error_in_a_module_names_its_file(bench: Bench) -> None:
    folder = package(bench)
    (folder / "model.py").write_text("import keras\n\n1 / 0\n")
    module(bench, "trainer")
    assert fate(bench)[1] == "trainer/model.py, line 3: ZeroDivisionError: division by zero"
    assert "kbench_guest" not in log(bench) and "importlib" not in log(bench)


def test_a_notebook_runs_as_it_is(bench: Bench) -> None:
    path = notebook(
        bench,
        "%matplotlib inline\n!pip install -q small-one keras\nimport os, sys",
        "",
        BEGIN,
        "%%time\n%time history = fit(3)\n'the value'",
        "name = 'there'\nfound = !echo {name} $name\nprint(found, os.environ['MPLBACKEND'], sys.argv)",
        "%cd ..\n!echo \\\n  out",
        "def f():\n    %who\n    text = '''\n%no magic\n!neither\n'''\n    return text\n\nprint(f().split())",
        "from IPython.display import display, HTML\ndisplay('shown', HTML('<p>'))\n%unheard of",
    )
    said = measure(bench, path, "--show-output", "--", "--mine")
    assert said.status == 0, said.err
    printed = store.cell_folder(bench.runs()[-1], bench.last().measured[0].cell).stdout.read_text()
    assert printed.splitlines() == [
        "'the value'",
        "['there there'] Agg ['train.ipynb', '--mine']",
        "out",
        "['%no', 'magic', '!neither']",
        "shown",
    ]
    assert f"train.ipynb: fit, cell 2 line {LINE} (40 samples, 3 epochs" in said.out
    notes = " ".join(said.out.split())
    assert "`pip install -q small-one keras` was not run: --with small-one installs it" in notes
    assert "%unheard was left out: kbench runs without IPython" in notes


def test_a_cell_of_other_backends_is_left_out(bench: Bench) -> None:
    magic = (
        "from IPython.core.magic import register_cell_magic\n"
        "@register_cell_magic\n"
        "def backend(line, cell):\n"
        "    get_ipython().run_cell(cell)\n"
    )
    path = notebook(
        bench,
        BEGIN,
        magic,
        "%%backend jax\nprint('not here')",
        "%%backend jax,theano\n\nfit(3)\ndef f():\n    return 'ours'",
        "%%backend tensorflow\n1 / 0",
        "print(f())",
    )
    said = measure(bench, path, "--show-output")
    assert said.status == 0, said.err
    printed = store.cell_folder(bench.runs()[-1], bench.last().measured[0].cell).stdout.read_text()
    assert printed == "ours\n"
    assert f"train.ipynb: fit, cell 1 line {LINE} (40 samples, 3 epochs" in said.out
    assert "cells 3, 5 were left out: they are for other backends" in " ".join(said.out.split())


def test_an_error_in_a_notebook_is_said_by_cell_and_line(bench: Bench) -> None:
    measure(bench, notebook(bench, BEGIN, "fit(2)\n\n1 / 0\n"))
    assert fate(bench)[1] == "cell 2, line 3: ZeroDivisionError: division by zero"
    assert '"train.ipynb, cell 2", line 3, in <module>\n    1 / 0\n' in log(bench)
    measure(bench, notebook(bench, BEGIN, "fit(2)\nimport tensorflow.data\n"))
    assert fate(bench)[1].startswith("cell 2, line 2 uses tensorflow.data, and this backend has no TensorFlow")


def test_tensorflow_keras_of_a_notebook_is_keras(bench: Bench) -> None:
    said = measure(
        bench,
        notebook(bench, "from tensorflow import keras\nimport tensorflow as tf\ntf.keras.backend.backend()"),
        "--show-output",
    )
    assert said.status == 0 and "\n'theano'\n" in said.out


def test_what_a_notebook_printed_before_is_no_change_of_it(bench: Bench) -> None:
    path = notebook(bench, BEGIN, "fit(3)")
    measure(bench, path)
    found = json.loads(path.read_text())
    found["cells"][1]["outputs"] = [{"text": "other"}]
    path.write_text(json.dumps(found))
    assert "0 of 1 cells to measure" in bench("resume").out
    notebook(bench, BEGIN, "fit(4)")
    assert "its file has changed" in bench("resume").out


def test_a_notebook_is_compared_by_parity(bench: Bench) -> None:
    bench.backend("keras9/second")
    path = notebook(bench, "%matplotlib inline", BEGIN, "fit(2)")
    said = bench("parity", "--script", str(path), "--backends", "fake,keras9/second", "--device", "cpu")
    assert said.status == 0 and "train.ipynb" in said.out, said.err


def test_what_nbconvert_writes_runs(bench: Bench) -> None:
    head = "# coding: utf-8\n\n# In[1]:\n\n\nget_ipython().run_line_magic('matplotlib', 'inline')\n"
    body = "get_ipython().run_cell_magic('time', '', 'fit(3)\\n')\nget_ipython().system('pip install large-one')\n"
    said = measure(bench, bench.example("converted.py", head + BEGIN + body))
    assert said.status == 0 and "converted.py: fit, line" in said.out, said.err
    assert "--with large-one installs it" in " ".join(said.out.split())
    guarded = "try:\n    get_ipython()\nexcept NameError:\n    print('no notebook')\n"
    assert "\nno notebook\n" in measure(bench, bench.example("plain.py", BEGIN + guarded), "--show-output").out


def test_children_have_packages_and_the_backend(bench: Bench) -> None:
    text = """
import keras, subprocess
if __name__ == "__main__":
    os.environ["KERAS_BACKEND"] = "jax"
    code = "import keras; print('child', keras.backend.backend())"
    print(subprocess.check_output([sys.executable, "-c", code]).decode().split())
    import multiprocessing
    say = lambda: print('fork', keras.backend.backend(), flush=True)
    ours = multiprocessing.get_context("fork").Process(target=say)
    ours.start()
    ours.join()
"""
    said = measure(bench, bench.example("children.py", BEGIN + text), "--show-output")
    assert said.status == 0 and "['child', 'theano']" in said.out and "fork theano" in said.out, said.out + log(bench)


DECLARED = '# /// script\n# requires-python = "{}"\n# dependencies = ["keras-fake>=2", "fake-framework"]\n# ///\n'


def test_what_a_program_declares_is_looked_at_and_said(bench: Bench) -> None:
    path = bench.example("named.py", DECLARED.format(">=3.38") + BEGIN + "fit(3)\n")
    said = measure(bench, path)
    assert said.status == 0, said.err
    assert "not added  keras-fake>=2, fake-framework: kbench's own Keras and frameworks are used\n" in said.out
    assert "asks for   Python >=3.38; kbench takes each backend's" in said.out
    assert "it asks for Python >=3.38, and runs on 3." in " ".join(said.out.split())
    bench.example("named.py", DECLARED.format(">=3.6") + BEGIN + "fit(3)\n")
    assert "it asks for" not in measure(bench, path).out


def test_a_missing_package_is_named_beside_those_that_are_asked_for(bench: Bench) -> None:
    text = "import sklearn.svm, os\nfrom bs4 import that\ntry:\n    import cv2\nexcept ImportError:\n    pass\n"
    measure(bench, bench.example("needs.py", BEGIN + text))
    assert fate(bench)[1].endswith("; --with scikit-learn,beautifulsoup4 installs what it imports")
    measure(bench, bench.example("needs.py", BEGIN + "from google.colab import drive\nimport sklearn\n"))
    assert fate(bench)[1].endswith("ModuleNotFoundError: No module named 'google.colab'")


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.ipynb", "{", "a.ipynb is not a notebook of Jupyter"),
        ("a.ipynb", "[]", "a.ipynb is not a notebook of Jupyter"),
        ("a.ipynb", '{"cells": [3]}', "a.ipynb is not a notebook of Jupyter"),
        ("a.ipynb", '{"cells": [{"cell_type": "markdown", "source": "x"}]}', "a.ipynb has no cell with code"),
        ("a.ipynb", '{"cells": [{"cell_type": "code", "source": " "}]}', "a.ipynb has no cell with code"),
        (
            "a.ipynb",
            '{"cells": [{"cell_type": "code", "source": "1"}, {"cell_type": "code", "source": "\\nx = ("}]}',
            "a.ipynb is not valid Python, cell 2, line 2: ",
        ),
        (
            "a.ipynb",
            '{"cells": [{"cell_type": "code", "source": "%%backend jaxx\\nf(1)"}]}',
            "Cell 1 of the notebook: there is no backend 'jaxx': did you mean jax?",
        ),
        (
            "a.ipynb",
            '{"cells": [{"cell_type": "code", "source": "1"}, {"cell_type": "code", "source": "%%backend\\nf(1)"}]}',
            "Cell 2 of the notebook: %%backend names none: write those of this cell behind it, with commas.",
        ),
        (
            "a.ipynb",
            '{"cells": [], "metadata": {"kernelspec": {"language": "R"}}}',
            "a.ipynb is written in R, and not",
        ),
        ("p.py", "# /// script\n# dependencies = [\n", "`# /// script` block in line 1 of p.py has no end"),
        ("p.py", "# /// script\n# dependencies = [\n# ///\n", "`# /// script` block of p.py is not valid TOML"),
        (
            "p.py",
            "# /// script\n# a = 1\n# ///\n\n# /// script\n# a = 1\n# ///\n",
            "p.py has 2 `# /// script` blocks",
        ),
        ("p.py", DECLARED.format("new"), "`requires-python` of p.py: 'new' is not a version"),
        ("p.py", DECLARED.format("").replace('""', "3"), "`requires-python` of p.py: '3' is not a version"),
        ("p.py", "from . import model\n", "so Python can run it only as a part of it: start kbench in the folder"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(bench: Bench, name: str, content: str, sentence: str) -> None:
    path = bench.folder / name
    path.write_text(content)
    for command in (("script", str(path)), ("parity", "--script", str(path))):
        said = bench(*command, "--backends", "fake", "--device", "cpu")
        refused(said, sentence)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (("-m", "trainr"), "There is no module trainr below "),
        (("-m", "trainr"), "did you mean trainer?"),
        (("-m", "trainer.nothing.at.all"), "There is no module trainer.nothing.at.all below "),
        (("-m", "trainer/task"), "'trainer/task' is not a module's name, such as trainer or trainer.task"),
        (("-m", "bare"), "bare is a package without __main__.py: name one of its modules, such as -m bare.task"),
        (("-m", "trainer", "x.py"), "Name the program by its file or by -m: one of them"),
        ((), "Name the program: a file, a notebook, a folder with a __main__.py, or -m MODULE"),
        (("bare",), "has no __main__.py: name the file that starts the program, or use -m MODULE"),
    ],
)
def test_what_is_not_there_is_one_sentence(bench: Bench, asked: tuple[str, ...], sentence: str) -> None:
    package(bench)
    (bench.folder / "bare").mkdir()
    said = bench("script", *asked, "--backends", "fake", "--device", "cpu")
    refused(said, sentence)
