"""Headers that every module of Theano begins with, compiled once for all: g++ reads them in no time.

They lie in a folder that `gcc.cxxflags` names (-I). g++ takes what is compiled with a module's own flags, and
otherwise the header itself: the module is the same.
"""

import os
import shutil
import subprocess
import tempfile

HEADERS = ("Python.h", "iostream", "math.h", "vector", "algorithm")
FLAGS = ("-g", "-O3", "-fno-math-errno")  # of every module, with those of the user and the processor
SOME = ((), ("-fopenmp",))  # further ones that some have


def make(folder, cxx, flags, include_folders):
    """Compile them into `folder`. Nothing is there afterwards if the compiler cannot do so."""
    parent = os.path.dirname(folder)
    os.makedirs(parent, exist_ok=True)
    made = tempfile.mkdtemp(dir=parent)
    try:
        source, compiled = os.path.join(made, "all.h"), os.path.join(made, "Python.h.gch")
        os.mkdir(compiled)
        _write(source, "".join("#include <%s>\n" % header for header in HEADERS))
        # Included a second time, it is looked up here again.
        _write(os.path.join(made, "Python.h"), "#include_next <Python.h>\n")
        for number, further in enumerate(SOME):
            subprocess.check_call(
                [cxx, "-x", "c++-header"]
                + list(FLAGS + further)
                + list(flags)
                + ["-I" + one for one in include_folders]
                + [source, "-o", os.path.join(compiled, str(number))]
            )
        os.rename(made, folder)
    except (OSError, subprocess.CalledProcessError):  # or another process was faster
        shutil.rmtree(made, ignore_errors=True)


def _write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
