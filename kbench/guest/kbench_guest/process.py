"""What this process uses: its memory, and the libraries that compute in it with their numbers of threads.

threadpoolctl would tell the threads, but the backends' environments do not have it.
"""

import ctypes
import os
import re
import sys

import numpy as np

# Kind, beginning of the file's name, functions that return the number of threads. A library that is linked into a
# framework's own file does not show here.
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

GONE = " (deleted)"  # what the system adds if the file was replaced meanwhile


def report(framework, events, **more):
    """Write the events of memory and libraries. At the end: some frameworks load theirs with the first step."""
    events.write("memory", at="end", peak_mib=peak_memory_mib(), **more)
    threads = framework.threads()
    events.write("libraries", libraries=libraries(), framework_threads=threads, numpy_blas=numpy_blas())


def libraries(maps="/proc/self/maps"):
    """[{kind, file, threads}] of the libraries of linear algebra and threads; [] if the system has no such list."""
    found = {}
    for path in _files(maps):
        name = os.path.basename(path)
        for kind, beginning, functions in KINDS:
            if re.match(beginning, name):
                found[name] = {"kind": kind, "file": name, "threads": _ask(path, functions)}
                break
    return [found[name] for name in sorted(found)]


def numpy_blas():
    """The BLAS that numpy was built with, such as 'openblas 0.3.21'; '' if numpy does not say."""
    try:
        about = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return ("%s %s" % (about.get("name", ""), about.get("version", ""))).strip()
    except Exception:  # before numpy 1.26
        pass
    try:
        return " ".join(sorted(set(np.__config__.get_info("blas_opt_info").get("libraries", []))))
    except Exception:
        return ""


def peak_memory_mib():
    """The most memory that this process has held at once, in MiB; None if the system does not say."""
    try:
        with open("/proc/self/status") as file:
            # Not getrusage: on Linux its figure begins with that of the process that started this one.
            return next(int(line.split()[1]) / 1024.0 for line in file if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2.0**20 if sys.platform == "darwin" else 2.0**10)


def _files(maps):
    try:
        with open(maps, encoding="utf-8", errors="replace") as lines:
            parts = [line.rstrip("\n").split(None, 5) for line in lines]
    except OSError:
        return []
    paths = {part[5] for part in parts if len(part) == 6 and part[5].startswith("/")}
    return sorted(path[: -len(GONE)] if path.endswith(GONE) else path for path in paths)


def _ask(path, functions):
    """The number of threads that the library would use; None if it has none of the functions."""
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD)  # it is there: nothing is loaded for the question
        for name in functions:
            if hasattr(library, name):
                return int(getattr(library, name)())
    except (OSError, AttributeError):
        pass
    return None
