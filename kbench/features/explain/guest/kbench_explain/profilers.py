"""Each framework's own profiler: writes what `run` does as a trace in Chrome's format, and says what took most.

Both JAX and TensorFlow write the trace of XLA's profiler, in which the operations of small programs are on the thread
of Python, among its frames, and those of others on threads of the runtime.
"""

import gzip
import json
import os
import re
import shutil
from typing import Any, Callable, Dict, List, Tuple

Operations = List[Tuple[str, float, int]]  # name, seconds, calls

# Events that are no operations: Python's frames, and the machinery around operations.
_AROUND = re.compile(
    r"^\$|::|\.py:\d|^end: |^EagerLocalExecute|"
    r"^(PjitFunction|ParseArguments|Wait|Handle inputs|DevicePut|EagerExecute|FunctionRun|Executor|TFE_|multi_step)"
)


def pytorch(module: Any, run: Callable[[], None], folder: str, path: str) -> Operations:
    """By torch.profiler."""
    profiler = module.profiler
    kinds, on_gpu = [profiler.ProfilerActivity.CPU], module.cuda.is_available()
    if on_gpu:
        kinds.append(profiler.ProfilerActivity.CUDA)
    with profiler.profile(activities=kinds) as found:
        run()
    found.export_chrome_trace(path)
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
    written = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
    traces = [one for one in written if one.endswith("trace.json.gz")]
    if traces:
        shutil.copyfile(traces[0], path)
    else:
        planes = [one for one in written if one.endswith(".xplane.pb")]
        if not planes:
            raise RuntimeError("its profiler has written no trace")
        with gzip.open(path, "wt", encoding="utf-8") as made:
            json.dump({"displayTimeUnit": "ns", "traceEvents": _of_planes(planes[0])}, made)
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return of_events(json.load(file)["traceEvents"])


def _of_planes(file: str) -> List[Dict[str, Any]]:
    """The events of a file of planes, which is all that later versions of TensorFlow write."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace()
    with open(file, "rb") as content:
        space.ParseFromString(content.read())
    lines = [
        (number, plane, line) for number, plane in enumerate(space.planes) for line in plane.lines if line.events
    ]
    first = min((line.timestamp_ns for _, _, line in lines), default=0)
    found: List[Dict[str, Any]] = [
        {"ph": "M", "pid": number, "name": "process_name", "args": {"name": plane.name}}
        for number, plane in enumerate(space.planes)
    ]
    for number, plane, line in lines:
        name = line.display_name or line.name
        found.append({"ph": "M", "pid": number, "tid": line.id, "name": "thread_name", "args": {"name": name}})
        for event in line.events:
            about = plane.event_metadata[event.metadata_id]
            start = (line.timestamp_ns - first) / 1e3 + event.offset_ps / 1e6
            one = {"ph": "X", "pid": number, "tid": line.id, "name": about.display_name or about.name, "ts": start}
            found.append(dict(one, dur=event.duration_ps / 1e6))
    return found


def of_events(events: List[Dict[str, Any]]) -> Operations:
    """Operations with the time in each, without what lies within it on its thread."""
    by_thread: Dict[Any, List[Dict[str, Any]]] = {}
    for one in events:
        if one.get("ph") == "X":
            by_thread.setdefault((one.get("pid"), one.get("tid")), []).append(one)
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
