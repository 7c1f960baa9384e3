"""Which libraries compute in this process, with how many threads: the process and the libraries themselves are asked.

As threadpoolctl does it, which the environments of old Pythons have not got.
"""

import ctypes
import os
import re

import keras
import numpy as np

# Kind, beginning of the file's name, functions that tell the number of threads. What a framework carries inside its
# own file does not show here.
KINDS = (
    ("OpenBLAS", r"lib(scipy_)?openblas", (
        "openblas_get_num_threads", "openblas_get_num_threads64_",
        "scipy_openblas_get_num_threads", "scipy_openblas_get_num_threads64_",
    )),
    ("MKL", r"(lib)?mkl_(rt|core)|libmklml|libmkldml", ("MKL_Get_Max_Threads",)),
    ("BLIS", r"libblis", ("bli_thread_get_num_threads",)),
    ("ATLAS", r"lib(t|s)?atlas|libcblas", ()),
    ("BLAS", r"libblas", ()),
    ("Accelerate", r"Accelerate", ()),
    ("oneDNN", r"libmkldnn|libdnnl", ()),
    ("cuBLAS", r"libcublas\.", ()),
    ("cuDNN", r"libcudnn\.", ()),
    ("Intel OpenMP", r"libiomp|libiomp5md", ("omp_get_max_threads",)),
    ("LLVM OpenMP", r"libomp", ("omp_get_max_threads",)),
    ("GNU OpenMP", r"libgomp", ("omp_get_max_threads",)),
)  # fmt: skip

GONE = " (deleted)"  # what the system adds where a file was replaced meanwhile


def mapped(maps="/proc/self/maps"):
    """[{kind, file, threads}] of the libraries of linear algebra and threads; [] where the system does not tell."""
    found = {}
    for path in _files(maps):
        name = os.path.basename(path)
        for kind, beginning, functions in KINDS:
            if re.match(beginning, name):
                found[name] = {"kind": kind, "file": name, "threads": _ask(path, functions)}
                break
    return [found[name] for name in sorted(found)]


def numpy_blas():
    """The BLAS that numpy was built with, such as 'openblas 0.3.21'; '' where it does not tell."""
    try:
        about = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return ("%s %s" % (about.get("name", ""), about.get("version", ""))).strip()
    except Exception:  # before numpy 1.26
        pass
    try:
        return " ".join(sorted(set(np.__config__.get_info("blas_opt_info").get("libraries", []))))
    except Exception:
        return ""


def framework_threads():
    """{name of a setting: its value} as the framework holds it; 0 is its own choice. {} where it does not tell."""
    ask = _THREADS.get(keras.backend.backend())
    try:
        return {} if ask is None else ask()
    except Exception:  # another version of it: a cell does not fail for this
        return {}


def _files(maps):
    try:
        with open(maps, encoding="utf-8", errors="replace") as lines:
            parts = [line.rstrip("\n").split(None, 5) for line in lines]
    except OSError:
        return []
    paths = {part[5] for part in parts if len(part) == 6 and part[5].startswith("/")}
    return sorted(path[: -len(GONE)] if path.endswith(GONE) else path for path in paths)


def _ask(path, functions):
    """The number of threads that the library would use; None where it has none of the functions."""
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD)  # it is there: nothing is loaded for the question
        for name in functions:
            if hasattr(library, name):
                return int(getattr(library, name)())
    except (OSError, AttributeError):
        pass
    return None


def _tensorflow():
    import tensorflow

    if hasattr(tensorflow, "compat") and tensorflow.__version__.startswith("1."):
        held = keras.backend.get_session()._config
        return {"intra_op": held.intra_op_parallelism_threads, "inter_op": held.inter_op_parallelism_threads}
    held = tensorflow.config.threading
    return {
        "intra_op": held.get_intra_op_parallelism_threads(),
        "inter_op": held.get_inter_op_parallelism_threads(),
    }


def _torch():
    import torch

    return {"intra_op": torch.get_num_threads(), "inter_op": torch.get_num_interop_threads()}


def _theano():
    import theano

    flags = str(theano.config.blas.ldflags).replace(os.path.expanduser("~"), "~")  # results are made to be published
    return {"openmp": bool(theano.config.openmp), "blas": flags}


_THREADS = {"tensorflow": _tensorflow, "torch": _torch, "theano": _theano}
