"""What a guest writes for the host: the events with their fields, and the writer that checks them.

One JSON object a line, written and flushed as it happens. EVENTS is plain data: the host's tests read this file
without the rest of the guest, so that it imports the standard library alone.
"""

import contextlib
import json
import os
import re
import time
import traceback
from typing import Any, Dict, Iterator

SCHEMA = 1
IN_TRACED = "in user code:"  # how TensorFlow begins an error in a function that it traces

# Event -> its fields -> their type. A "?" after the type: the field may be absent or, if it is no list, null.
EVENTS = {
    "start": {"schema": "integer", "pid": "integer", "python": "text"},
    "phase": {"name": "text", "seconds": "number"},
    "memory": {"at": "text", "peak_mib": "number?", "allocator_peak_mib": "number?"},
    "loaded": {
        "keras_version": "text", "backend_version": "text", "numpy_version": "text", "keras_backend": "text",
        "image_data_format": "text", "floatx": "text", "epsilon": "number",
    },
    "order": {
        "sha256": "text", "samples_sha256": "text?", "different_samples": "integer?", "sample_weights": "text?",
    },
    "shapes": {"inputs": "list", "layers": "list"},
    "model": {
        "parameters": "integer", "form": "text", "dtypes": "list", "layers": "list?",
        "weights": "text", "weights_sha256": "text", "weights_left": "list",
    },
    "compiled": {"optimizer": "object", "loss": "text", "batch_size": "integer"},
    "settings": {"jit": "text?", "computes_in": "list?"},
    "threads": {"threads_at_start": "object", "cores_at_start": "integer?"},
    "recurrent": {"recurrent_kernel": "text"},
    "training": {
        "metrics": "text?", "class_weight": "text", "loss_weights": "text", "augmentation": "text?",
        "steps_per_execution": "integer?", "run_eagerly": "integer?", "order_of_updates": "text?",
    },
    "device": {"device": "text"},
    "probe": {"outputs": "list", "scales": "list?"},
    "step": {
        "loss": "number?", "loss_rounding": "number?", "noisy_loss": "number?", "changes": "list",
        "draws": "list?", "repeats": "integer?", "unchecked": "text?", "point": "integer?",
    },
    "step_again": {
        "loss": "number?", "loss_rounding": "number?", "noisy_loss": "number?", "changes": "list", "draws": "list",
        "point": "integer?",
    },
    "epoch": {
        "epoch": "integer", "seconds": "number", "samples": "integer",
        "loss": "number?", "accuracy": "number?", "val_loss": "number?", "val_accuracy": "number?",
        "metrics": "object?", "evaluation_seconds": "number?", "teardown_seconds": "number?",
        "callback_seconds": "number?", "callback_seconds_within": "number?",
        "step_seconds": "list?", "rounds": "list?", "resident_mib": "number?", "tokens": "integer?",
        "first_token_seconds": "number?",
        "site": "text?", "first": "integer?", "calls": "integer?", "compilations": "integer?",
    },
    "received": {
        "epoch": "integer", "steps": "integer?", "samples": "integer?", "sha256": "text?",
        "learning_rate": "number?", "learning_rate_at_end": "number?", "weights_changed": "integer?",
        "callback_seconds": "number?", "updates": "integer?", "threads": "object?", "cores": "integer?",
        "ready_seconds": "number?", "outputs_off": "number?", "not_finite": "integer?",
        "validation_sha256": "text?", "moved": "list?",
    },
    "stopped": {"epoch": "integer"},
    "note": {"text": "text"},
    "program": {"seconds": "number", "exit_status": "integer", "keras": "integer", "broken": "text"},
    "libraries": {
        "libraries": "list", "framework_threads": "object", "numpy_blas": "text", "frameworks": "list",
    },
    "error": {"kind": "text", "message": "text", "in_keras": "integer?"},
    "end": {"seconds": "number"},
}  # fmt: skip
TYPES: Dict[str, Any] = {"integer": int, "number": (int, float), "text": str, "list": list, "object": dict}


class Refused(Exception):
    """The cell cannot go on. kind: 'mismatch', 'device', 'model', 'data', 'unsupported' or 'example'."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def in_a_line(error: BaseException) -> str:
    """An error's type and the first line of its message, and the line in bold that Keras puts below; of an error in a
    function that TensorFlow traces, or in a model that Keras could not build, which come behind others, the error
    itself.
    """
    text = str(error).strip()
    _, unbuilt, itself = text.rpartition("Exception encountered:\n'")
    text = itself.rstrip("'") if unbuilt else text
    traced = re.findall(r"^\s*(\w*(?:Error|Exception): .+)$", text, re.MULTILINE) if IN_TRACED in text else []
    if traced:
        return str(traced[-1])
    first = "".join(text.splitlines()[:1])
    bold = re.search(r"\x1b\[1m(.+?)(\x1b|\n)", text)
    more = " " + bold.group(1) if bold and bold.group(1) not in first else ""
    return ": ".join(filter(None, (type(error).__name__, first + more)))


def reason(error: BaseException) -> Dict[str, Any]:
    """{"kind", "message", "in_keras"} of an event for this error; in_keras: whether Keras lacks something.

    What an installed package has not implemented is `unsupported`.
    """
    if isinstance(error, Refused):
        return {"kind": error.kind, "message": str(error)}
    trace, packages, file = error.__traceback__, set(), ""
    while trace is not None:
        packages.add(str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0])
        file = trace.tb_frame.f_code.co_filename
        trace = trace.tb_next
    if isinstance(error, NotImplementedError) and "-packages" + os.sep in file:
        return {"kind": "unsupported", "message": in_a_line(error)}
    at_odds = isinstance(error, (AttributeError, ImportError, TypeError)) and bool(packages & {"keras", "tf_keras"})
    return {"kind": "exception", "message": in_a_line(error), "in_keras": int(at_odds)}


def line_in(file: str, error: BaseException) -> str:
    """`line 7: `, where the error passed through the file last; empty if it did not."""
    lines = [one.lineno for one in traceback.extract_tb(error.__traceback__) if one.filename == file]
    return f"line {lines[-1]}: " if lines else ""


class Events:
    """Appends events to a file one by one, so that what a dying process measured is kept."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, event: str, **values: Any) -> None:
        """Write one event. Raises ValueError if it is not as EVENTS describes it."""
        values = {name: _plain(value) for name, value in values.items()}
        check(event, values)
        line = json.dumps(dict(values, event=event), default=_plain, sort_keys=True)
        os.write(self._file, (line + "\n").encode("utf-8"))

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """A context; its duration is written as the phase `name` unless it raises."""
        start = time.perf_counter()
        yield
        self.write("phase", name=name, seconds=time.perf_counter() - start)


def check(event: str, values: Dict[str, Any]) -> None:
    """Raises ValueError if the event, a field or a type is not in EVENTS."""
    fields = EVENTS.get(event)
    if fields is None:
        raise ValueError(f"there is no event {event!r}")
    for name in sorted(set(values) - set(fields)):
        raise ValueError(f"the event {event} has no field {name!r}")
    for name, kind in fields.items():
        value = values.get(name)
        if value is None and kind.endswith("?") and (kind != "list?" or name not in values):
            continue
        if not isinstance(value, TYPES[kind.rstrip("?")]) or isinstance(value, bool):
            raise ValueError(f"{name} of the event {event} is {value!r}, not of the type {kind}")


def _plain(value: Any) -> Any:
    """Keras 2 reports numpy scalars and 0-d arrays, Keras 3 floats or tensors; JSON has plain numbers."""
    if value is None or isinstance(value, (str, int, float, list, dict)):
        return value
    if isinstance(value, tuple):
        return list(value)
    return value.tolist() if hasattr(value, "tolist") else float(value)
