"""Runs one cell, from its spec file to its last event. An error becomes an event, too."""

import json
import os
import sys
import time
import traceback

from kbench_guest import parts, turns
from kbench_guest.drivers import model_file
from kbench_guest.frameworks import legacy_keras
from kbench_guest.protocol import SCHEMA, Events, Refused, line_in, reason


def main(path: str) -> int:
    """Run the cell that the spec file describes; returns 0 if it ended well, else 1."""
    started = time.perf_counter()
    with open(path, encoding="utf-8") as file:
        spec = json.load(file)
    for holder in (spec, spec["data"], spec["driver"] or {}):
        for name in ("example", "events", "published_weights", "trained", "saved", "folder", "file"):
            if name in holder:
                holder[name] = os.path.expanduser(holder[name])
    events = Events(spec["events"])
    legacy_keras.install()
    events.write("start", schema=SCHEMA, pid=os.getpid(), python=sys.version.split()[0])
    driver = parts.imported(spec["driver"]) if spec["driver"] else None
    if hasattr(driver, "main"):
        return int(driver.main(spec, events))
    try:
        if driver is not None:
            driver.run(spec, events)
        elif (spec.get("part") or {}).get("at") == "cell":
            parts.driver(spec).run(spec, events)
        elif spec["load"]:
            from kbench_guest.drivers import own_data

            own_data.run(spec, events)
        else:
            model_file.run(spec, events)
    except BaseException as error:
        traceback.print_exc()
        found = reason(error)
        if not isinstance(error, Refused):
            file = (spec["driver"] or {}).get("file") or spec["example"]
            found["message"] = line_in(file, error) + found["message"]
        events.write("error", **found)
        for one in spec["on_error"]:
            parts.imported(one).tell(error, events)
        return 1
    events.write("end", seconds=time.perf_counter() - started - turns.held_seconds())
    return 0
