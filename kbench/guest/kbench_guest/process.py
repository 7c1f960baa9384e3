"""What this process uses: its memory, and the libraries that compute in it with their numbers of threads.

threadpoolctl would tell the threads, but the backends' environments do not have it.
"""

import contextlib
import ctypes
import glob
import os
import re
import sys
import time
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence

import numpy as np

if TYPE_CHECKING:
    from kbench_guest.device import Device
    from kbench_guest.protocol import Events

# Kind, beginning of the file's name, functions that return the number of threads. A library that is linked into a
# framework's own file does not show here.
KINDS = (
    ("OpenBLAS", r"lib(scipy_)?openblas", (
        "openblas_get_num_threads", "openblas_get_num_threads64_",
        "scipy_openblas_get_num_threads", "scipy_openblas_get_num_threads64_",
    )),
    ("MKL", r"(lib)?mkl_(rt|core)|libmklml|libmkldml", ("MKL_Get_Max_Threads",)),
    ("BLIS", r"libblis", ("bli_thread_get_num_threads",)),
    ("BLAS", r"libblas", ()),
    ("oneDNN", r"libmkldnn|libdnnl", ()),
    ("cuBLAS", r"libcublas\.", ()),
    ("cuDNN", r"libcudnn\.", ()),
    ("Intel OpenMP", r"libiomp|libiomp5md", ("omp_get_max_threads",)),
    ("LLVM OpenMP", r"libomp", ("omp_get_max_threads",)),
    ("GNU OpenMP", r"libgomp", ("omp_get_max_threads",)),
)  # fmt: skip

FRAMEWORKS = (
    "caffe", "caffe2", "chainer", "cntk", "jax", "mxnet", "openvino", "plaidml", "tensorflow", "theano", "torch",
)  # fmt: skip
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
GONE = " (deleted)"  # what the kernel adds if the file was replaced meanwhile


def report(framework: "Device", events: "Events", **more: Any) -> None:
    """Write the events of memory and libraries. At the end: some frameworks load theirs with the first step."""
    events.write("memory", at="end", peak_mib=peak_memory_mib(), **more)
    more = {"framework_threads": threads(framework), "frameworks": frameworks()}
    events.write("libraries", libraries=libraries(), numpy_blas=numpy_blas(), **more)


def threads(framework: "Device") -> Dict[str, Any]:
    """What the framework says of its threads; {} if it does not."""
    try:
        return framework.threads()
    except Exception:  # another version of the framework: the cell must not fail
        return {}


def frameworks() -> List[str]:
    """["torch 2.9.0", ...]: the frameworks that this process has imported."""
    loaded = [(name, sys.modules.get(name)) for name in sorted(FRAMEWORKS)]
    return [f"{name} {module.__version__}" for name, module in loaded if hasattr(module, "__version__")]


def libraries(maps: str = "/proc/self/maps") -> List[Dict[str, Any]]:
    """[{kind, file, threads}] of the libraries of linear algebra and threads that this process has loaded."""
    found = {}
    for path in _files(maps):
        name = os.path.basename(path)
        for kind, beginning, functions in KINDS:
            if re.match(beginning, name):
                found[name] = {"kind": kind, "file": name, "threads": _ask(path, functions)}
                break
    return [found[name] for name in sorted(found)]


def numpy_blas() -> str:
    """The BLAS that numpy was built with, such as 'openblas 0.3.21'; '' if numpy does not say."""
    with contextlib.suppress(Exception):  # before numpy 1.26
        about = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return f"{about.get('name', '')} {about.get('version', '')}".strip()
    with contextlib.suppress(Exception):
        return " ".join(sorted(set(np.__config__.get_info("blas_opt_info").get("libraries", []))))
    return ""


def peak_memory_mib() -> Optional[float]:
    """The most memory that this process has held at once, in MiB; None if the kernel does not say."""
    with open("/proc/self/status") as file:
        # Not getrusage: on Linux its figure begins with that of the process that started this one.
        return next((int(line.split()[1]) / 1024.0 for line in file if line.startswith("VmHWM:")), None)


def ready_seconds(tasks: str = "/proc/self/task/*/schedstat") -> Optional[float]:
    """How long the threads of this process have computed or waited for a core; None if the kernel does not say."""
    waited = 0
    for path in glob.glob(tasks):
        # The thread may have ended.
        with contextlib.suppress(OSError, IndexError, ValueError), open(path) as file:
            waited += int(file.read().split()[1])
    return time.process_time() + waited / 1e9 if waited else None


def resident_mib(status: str = "/proc/self/statm") -> Optional[float]:
    """The memory that this process holds now, in MiB; None if the kernel does not say. Takes 20 microseconds."""
    try:
        with open(status) as file:
            return int(file.read().split()[1]) * PAGE_BYTES / 2.0**20
    except (OSError, IndexError, ValueError):
        return None


def _files(maps: str) -> List[str]:
    with open(maps, encoding="utf-8", errors="replace") as lines:
        parts = [line.rstrip("\n").split(None, 5) for line in lines]
    paths = {part[5] for part in parts if len(part) == 6 and part[5].startswith("/")}
    return sorted(path[: -len(GONE)] if path.endswith(GONE) else path for path in paths)


def _ask(path: str, functions: Sequence[str]) -> Optional[int]:
    """The number of threads that the library would use; None if it has none of the functions."""
    with contextlib.suppress(OSError):
        library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD)  # it is loaded already
        for name in functions:
            if hasattr(library, name):
                return int(getattr(library, name)())
    return None
