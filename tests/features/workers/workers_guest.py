"""A worker without a framework: reads its part of each batch, waits for the others after each epoch, and tells of it.

Its example is run before the first epoch and after each, with what is defined here.
"""

import json
import os
import socket
import sys
from pathlib import Path


def tell(event, **values):
    """Append an event, as the real guest does."""
    os.write(_file, (json.dumps(dict(values, event=event), sort_keys=True) + "\n").encode())


def find_each_other():
    """The sockets to the other workers of the first one, or of another one that to the first."""
    host, _, port = workers["addresses"][0].partition(":")
    if rank == 0:
        with socket.create_server((host, int(port))) as server:
            return [server.accept()[0] for _ in range(1, count)]
    while True:
        try:
            return [socket.create_connection((host, int(port)))]
        except ConnectionRefusedError:
            pass


def wait_for_each_other():
    """As a collective operation does."""
    for one in others:
        one.sendall(b".")
    for one in others:
        if not one.recv(1):
            raise ConnectionError("Connection closed by peer")


def read_of(samples):
    """A sum of hashes of these samples."""
    return "%x" % (sum((31 * one + 7) ** 3 for one in samples) % 2**64)


sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "kbench" / "guest"))
from kbench_guest.turns import TurnClient  # noqa: E402

spec = json.loads(Path(sys.argv[1]).read_text())
workers = spec.get("workers", {"count": 1, "rank": 0, "addresses": [""]})
rank, count = workers["rank"], workers["count"]
_file = os.open(str(Path(spec["events"]).expanduser()), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
epoch, code = 0, compile(Path(spec["example"]).expanduser().read_text(), "example", "exec")
turns = TurnClient(100)
every = range(spec["samples"])
mine = every[rank::count]
try:
    exec(code)
    tell("start", schema=1, python="3.6.15")
    tell("loaded", keras_version="2.99.1", backend_version="1.0", image_data_format=spec["image_data_format"])
    others = find_each_other() if count > 1 else []
    if turns:
        turns.ready()
    for epoch in range(1, spec["epochs"] + 1):
        wait_for_each_other()
        if turns:
            turns.yield_turn()
        if count > 1:
            about = {"samples": len(mine), "batch_size": spec["batch_size"] // count, "read": read_of(mine)}
            about = dict(about, read_of_all=read_of(every), communication_seconds=0.25, peak_mib=100.0 + rank)
            tell("worker", epoch=epoch, rank=rank, **about)
        seconds = 8.0 / count + 0.01 * epoch
        scores = {"loss": 1.0 / epoch, "accuracy": 0.5, "val_loss": 1.0 / epoch, "val_accuracy": 0.5}
        tell("epoch", epoch=epoch, seconds=seconds, samples=spec["samples"], **scores)
        exec(code)
except Exception as error:
    tell("error", kind="exception", message=f"{type(error).__name__}: {error}")
    sys.exit(1)
tell("end", seconds=9.0)
