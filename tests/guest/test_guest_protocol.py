"""The guest's side of the protocol: a JSON object a line, on disk as soon as it happens."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec.inspect as type_info
import numpy as np
import pytest
from guest_modules import GUESTS_OF_FEATURES, alone

from kbench import hooks, store
from kbench.base import paths
from kbench.records.reported import Facts
from kbench.store.events import KINDS, OPEN

protocol = alone("protocol")
for feature in GUESTS_OF_FEATURES:
    (package,) = (one.name for one in feature.iterdir() if one.name.startswith("kbench_"))
    protocol.EVENTS.update(getattr(alone("__init__", feature / package), "EVENTS", {}))

DIES = """
import os, sys
sys.path.insert(0, sys.argv[1])
from kbench_guest.protocol import Events
written = Events(sys.argv[2])
written.write("start", schema=1, pid=1, python="3.6.15")
written.write("epoch", epoch=1, seconds=0.5, samples=8)
os._exit(9)
"""


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def raised(text: str, module: str, file: str = "mine.py") -> BaseException:
    try:
        exec(compile(text, file, "exec"), {"__name__": module})
    except Exception as error:
        return error
    raise AssertionError(text)


def test_what_keras_lacks_is_told_from_other_errors() -> None:
    assert protocol.reason(raised("import os\nos.nothing", "keras.src.layers"))["in_keras"] == 1
    assert protocol.reason(raised("import os\nos.nothing", "mine"))["in_keras"] == 0
    assert protocol.reason(raised("1 / 0", "keras.src.layers"))["in_keras"] == 0


def test_what_a_package_has_not_implemented_is_unsupported() -> None:
    for file, kind in (("/env/site-packages/keras/backend.py", "unsupported"), ("/home/me/model.py", "exception")):
        found = protocol.reason(raised("raise NotImplementedError('no masks')", "any", file))
        assert (found["kind"], found["message"]) == (kind, "NotImplementedError: no masks")


def test_each_event_is_on_disk_before_the_next(tmp_path: Path) -> None:
    written = protocol.Events(str(tmp_path / "events"))
    for number in range(3):
        written.write("device", device=str(number))
        assert (tmp_path / "events").read_text().count("\n") == number + 1


@pytest.mark.processes
def test_a_dying_process_leaves_all_that_it_wrote(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", DIES, str(paths.GUEST), str(tmp_path / "events")], check=False)
    assert done.returncode == 9
    assert [one["event"] for one in lines(tmp_path / "events")] == ["start", "epoch"]


def test_numbers_of_numpy_become_plain_ones(tmp_path: Path) -> None:
    written = protocol.Events(str(tmp_path / "events"))
    numbers = {"loss": np.float32(0.5), "accuracy": np.array(0.25), "step_seconds": np.array([1.0, 2.0])}
    written.write("epoch", epoch=np.int64(3), seconds=1.0, samples=8, **numbers)
    (line,) = lines(tmp_path / "events")
    assert line == {
        "event": "epoch",
        "epoch": 3,
        "seconds": 1.0,
        "samples": 8,
        "loss": 0.5,
        "accuracy": 0.25,
        "step_seconds": [1.0, 2.0],
    }


@pytest.mark.parametrize(
    ("event", "fields", "wrong"),
    [
        ("verdict", {}, "there is no event 'verdict'"),
        ("device", {"device": "cpu", "number": 0}, "the event device has no field 'number'"),
        ("device", {}, "device of the event device is None, not of the type text"),
        ("phase", {"name": "build", "seconds": "1"}, "seconds of the event phase is '1', not of the type number"),
        ("phase", {"name": "build", "seconds": True}, "seconds of the event phase is True, not of the type number"),
    ],
)
def test_what_the_description_does_not_have_is_not_written(
    tmp_path: Path, event: str, fields: dict[str, Any], wrong: str
) -> None:
    with pytest.raises(ValueError) as caught:
        protocol.Events(str(tmp_path / "events")).write(event, **fields)
    assert str(caught.value) == wrong
    assert (tmp_path / "events").read_bytes() == b""


def test_a_phase_is_written_with_its_seconds_unless_it_fails(tmp_path: Path) -> None:
    written = protocol.Events(str(tmp_path / "events"))
    with written.phase("build"):
        pass
    with pytest.raises(ValueError), written.phase("data"):
        raise ValueError
    (only,) = lines(tmp_path / "events")
    assert (only["event"], only["name"]) == ("phase", "build") and only["seconds"] >= 0


def test_the_host_understands_what_the_guest_writes(tmp_path: Path) -> None:
    written = protocol.Events(str(tmp_path / "events"))
    written.write("start", schema=1, pid=1, python="3.6.15")
    with written.phase("import"):
        pass
    written.write("epoch", epoch=1, seconds=0.5, samples=8, loss=float("nan"), accuracy=np.float32(0.5))
    written.write("error", kind="exception", message="\u00fc \u2028 \x1b[31m")
    written.write("end", seconds=1.0)
    understood = store.read_events(tmp_path / "events")
    assert understood.facts.events_damaged == 0
    assert understood.facts.error == "\u00fc \u2028 \x1b[31m"
    assert (understood.epochs[0].samples, understood.epochs[0].accuracy) == (8, 0.5)
    assert set(understood.phases) == {"import"}


SAMPLES: dict[str, Any] = {"integer": 1, "number": 0.5, "text": "import", "list": [], "object": {}}


@pytest.mark.parametrize("unknown", [False, True])
def test_the_host_understands_every_event_of_the_description(tmp_path: Path, unknown: bool) -> None:
    written = protocol.Events(str(tmp_path / "events"))
    for event, fields in sorted(protocol.EVENTS.items(), key=lambda one: one[0] == "end"):
        values = {name: SAMPLES[kind.rstrip("?")] for name, kind in fields.items() if not unknown or kind != "list?"}
        if unknown:
            values = {name: None if fields[name].endswith("?") else value for name, value in values.items()}
        written.write(event, **values)
    understood = store.read_events(tmp_path / "events")
    assert understood.facts.events_damaged == 0
    assert understood.last == "end" and understood.phases and understood.epochs and understood.facts.of["parity"]


SAME = {
    "integer": (type_info.IntType, type_info.BoolType),
    "number": (type_info.FloatType, type_info.IntType),
    "text": (type_info.StrType, type_info.LiteralType),
    "list": (type_info.VarTupleType, type_info.TupleType, type_info.ListType),
    "object": (type_info.DictType, type_info.StructType),
}
UNREAD = {"schema", "pid"}  # of the event start


def agree(kind: str, read: type_info.Type) -> bool:
    """Whether the host reads what the guest may write as this kind."""
    types = read.types if isinstance(read, type_info.UnionType) else (read,)
    known = [one for one in types if not isinstance(one, type_info.NoneType)]
    return all(isinstance(one, (*SAME[kind.rstrip("?")], type_info.AnyType)) for one in known)


def test_guest_and_host_declare_the_same_events_with_the_same_fields_of_the_same_types() -> None:
    structs: dict[object, Any] = {**KINDS, **{name: one.struct for name, one in hooks.event_kinds().items()}}
    assert {*protocol.EVENTS} == {*structs, *OPEN}
    for event, struct in structs.items():
        fields = {one.encode_name: one.type for one in type_info.type_info(struct).fields}  # type: ignore[attr-defined]
        assert {*fields} == {*protocol.EVENTS[str(event)]}, event
        for name, kind in protocol.EVENTS[str(event)].items():
            assert agree(kind, fields[name]), f"{name} of {event}"
    facts = {one.encode_name: one.type for one in type_info.type_info(Facts).fields}  # type: ignore[attr-defined]
    for event in OPEN:
        for name, kind in protocol.EVENTS[event].items():
            assert name in UNREAD or agree(kind, facts[name]), f"{name} of {event}"


def test_of_an_error_in_a_traced_function_the_error_itself_is_told() -> None:
    text = """in user code:

    File "/home/someone/train.py", line 7, in train_step  *
        return {"loss": self.nothing(x)}

    AttributeError: 'M' object has no attribute 'nothing'
"""
    assert protocol.in_a_line(AttributeError(text)) == "AttributeError: 'M' object has no attribute 'nothing'"
    unbuilt = "Unable to automatically build the model. Please build it yourself.\nException encountered:\n'%s'"
    wrapped = RuntimeError(
        unbuilt % "Exception encountered when calling Wrapper.call().\n\n\x1b[1mmat1 is Half\x1b[0m\n"
    )
    assert (
        protocol.in_a_line(wrapped) == "RuntimeError: Exception encountered when calling Wrapper.call(). mat1 is Half"
    )
    assert protocol.in_a_line(RuntimeError(unbuilt % "mat1 is Half")) == "RuntimeError: mat1 is Half"
    assert protocol.in_a_line(ValueError("in user code:")) == "ValueError: in user code:"
