"""The guest's side of the protocol: one JSON object a line, written and flushed as it happens."""

import json
import os
import time


class Events(object):
    """Appends events to the file that the host names; a dying process leaves all that it measured."""

    def __init__(self, path):
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, event, **values):
        """Write one event. Numbers of numpy and of the frameworks become plain ones."""
        line = json.dumps(dict(values, event=event), default=_plain, sort_keys=True)
        os.write(self._file, (line + "\n").encode("utf-8"))

    def phase(self, name):
        """A context whose duration is written as the phase `name`, where it ends without an exception."""
        return _Phase(self, name)


class _Phase(object):
    def __init__(self, events, name):
        self._events = events
        self._name = name

    def __enter__(self):
        self._start = time.perf_counter()
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self._events.write("phase", name=self._name, seconds=time.perf_counter() - self._start)


def _plain(value):
    """Keras 2 reports numpy scalars and 0-d arrays, Keras 3 floats or tensors."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return float(value)
