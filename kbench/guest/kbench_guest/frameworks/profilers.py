"""Each framework's own profiler: writes what `run` does as a trace in Chrome's format, and says what took most.

Both JAX and TensorFlow write the trace of XLA's profiler: events of a process "/host:CPU" or "/device:...", those of
operations on threads of the runtime.
"""

import gzip
import json
import os
import re
import shutil
from typing import Any, Callable, Dict, List, Tuple

Operations = List[Tuple[str, float, int]]  # name, seconds, calls

# What runs operations, by the names of the threads.
_OF_OPERATIONS = re.compile(
    r"XLA|xla|tf_|Eigen|stream|Stream|TfrtCpu|TFRT|pjrt|PjRt|inter_op|intra_op", re.IGNORECASE
)
# Events that are no operations: Python's frames, and the machinery around operations.
_AROUND = re.compile(r"^\$|::|^(ThreadpoolListener|ThunkExecutor|PjitFunction|ParseArguments|Wait|end: )|\.py:\d")


def pytorch(module: Any, run: Callable[[], None], path: str) -> Operations:
    """By torch.profiler."""
    profiler = module.profiler
    kinds = [profiler.ProfilerActivity.CPU]
    if module.cuda.is_available():
        kinds.append(profiler.ProfilerActivity.CUDA)
    with profiler.profile(activities=kinds) as found:
        run()
    plain = path[: -len(".gz")]
    found.export_chrome_trace(plain)
    with open(plain, "rb") as source, gzip.open(path, "wb") as made:
        shutil.copyfileobj(source, made)
    os.remove(plain)
    on_gpu = module.cuda.is_available()
    return [
        (one.key, (one.self_device_time_total if on_gpu else one.self_cpu_time_total) / 1e6, one.count)
        for one in found.key_averages()
    ]


def jax(module: Any, run: Callable[[], None], folder: str, path: str) -> Operations:
    """By jax.profiler."""
    with module.profiler.trace(folder, create_perfetto_trace=False):
        run()
    return _of_xla(folder, path)


def tensorflow(module: Any, run: Callable[[], None], folder: str, path: str) -> Operations:
    """By tf.profiler."""
    module.profiler.experimental.start(folder)
    try:
        run()
    finally:
        module.profiler.experimental.stop()
    return _of_xla(folder, path)


def _of_xla(folder: str, path: str) -> Operations:
    """Keep the trace that was written somewhere below the folder."""
    found = [
        os.path.join(place, name)
        for place, _, names in os.walk(folder)
        for name in names
        if name.endswith("trace.json.gz")
    ]
    if not found:
        raise RuntimeError("its profiler has written no trace.json.gz")
    shutil.copyfile(found[0], path)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return of_events(json.load(file)["traceEvents"])


def of_events(events: List[Dict[str, Any]]) -> Operations:
    """Operations with the time in each, without what lies within it on its thread."""
    threads = {
        (one.get("pid"), one.get("tid")): str(one["args"].get("name", ""))
        for one in events
        if one.get("ph") == "M" and one.get("name") == "thread_name"
    }
    by_thread: Dict[Any, List[Dict[str, Any]]] = {}
    for one in events:
        place = one.get("pid"), one.get("tid")
        if one.get("ph") == "X" and _OF_OPERATIONS.search(threads.get(place, "")):
            by_thread.setdefault(place, []).append(one)
    taken: Dict[str, List[float]] = {}
    for on_thread in by_thread.values():
        around: List[Tuple[float, List[float]]] = []  # (end, [microseconds, calls]) of what is under way
        for one in sorted(on_thread, key=lambda event: (event["ts"], -event.get("dur", 0.0))):
            start, took = float(one["ts"]), float(one.get("dur", 0.0))
            while around and around[-1][0] <= start:
                around.pop()
            name = str(one["name"])
            own = [0.0, 0.0] if _AROUND.search(name) else taken.setdefault(re.sub(r"\.\d+$", "", name), [0.0, 0.0])
            own[0] += took
            own[1] += 1
            if around:
                around[-1][1][0] -= took
            around.append((start + took, own))
    return [(name, microseconds / 1e6, int(calls)) for name, (microseconds, calls) in taken.items()]
