"""Precompiles the headers that every module of Theano includes, so that g++ needs half the time for a module.

They are in a folder that `gcc.cxxflags` names (-I). g++ uses a precompiled header that was made with the module's own
flags, and otherwise the header itself: the compiled module is the same.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile
from typing import Iterable

HEADERS = ("Python.h", "iostream", "math.h", "vector", "algorithm")
FLAGS = ("-g", "-O3", "-fno-math-errno")  # of every module, besides the user's and the processor's
SOME = ((), ("-fopenmp",))  # further flags of some modules


def make(folder: str, cxx: str, flags: Iterable[str], include_folders: Iterable[str]) -> None:
    """Precompile them into `folder`; leaves nothing there if the compiler fails."""
    parent = os.path.dirname(folder)
    os.makedirs(parent, exist_ok=True)
    made = tempfile.mkdtemp(dir=parent)
    try:
        source, compiled = os.path.join(made, "all.h"), os.path.join(made, "Python.h.gch")
        os.mkdir(compiled)
        pathlib.Path(source).write_text("".join(f"#include <{header}>\n" for header in HEADERS))
        # A second #include looks here again.
        pathlib.Path(made, "Python.h").write_text("#include_next <Python.h>\n")
        folders = ["-I" + one for one in include_folders]
        for number, further in enumerate(SOME):
            output = os.path.join(compiled, str(number))
            subprocess.check_call([cxx, "-x", "c++-header", *FLAGS, *further, *flags, *folders, source, "-o", output])
        os.rename(made, folder)
    except (OSError, subprocess.CalledProcessError):  # or another process was faster
        shutil.rmtree(made, ignore_errors=True)
