"""Joins what machines with a worker each send of a block, as if all workers had been on the first one's machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from kbench.cells.outcomes import is_lost
from kbench.features.cluster.messages import Result
from kbench.records.values import FAILED, OK, TIMEOUT

_OF_WORKER = re.compile(r"cells/[^/]+/(?:events|log|spec)\.worker(\d+)\.(?:jsonl|txt|json)", re.ASCII)
_OUTCOME = "/outcome.json"
# Of the worker that is why the others failed.
_WHY = ("status", "reason", "exit_code", "out_of_memory", "last_event", "last_lines")


def joined(results: Sequence[Result]) -> Result:
    """The first worker's files, beside them those of the others, which come in the order of their numbers."""
    first, *others = results
    files = dict(first.files)
    for number, one in enumerate(others, 1):
        for name, content in one.files.items():
            found = _OF_WORKER.fullmatch(name)
            if found and found[1] == str(number):
                files[name] = content
    for name in [name for name in first.files if others and name.endswith(_OUTCOME)]:
        files[name] = _outcome([one.files.get(name, b"") for one in results])
    return replace(first, files=files)


def _outcome(contents: Sequence[bytes]) -> bytes:
    """That of the first worker, with the reason of another one if it only waited for that or lost it."""
    first, *others = map(_decoded, contents)
    if not _only_suffers(first):
        return contents[0]
    for number, one in enumerate(others, 1):
        if one and one.get("status") != OK and not _only_suffers(one):
            why = {name: one[name] for name in _WHY if name in one}
            reason = str(one.get("reason", ""))
            named = reason if reason.startswith(f"worker {number}: ") else f"worker {number}: {reason}"
            return msgspec.json.encode({**first, **why, "reason": named})
    return contents[0]


def _only_suffers(outcome: Mapping[str, Any]) -> bool:
    """Whether another worker may be why it is not ok."""
    status, reason = outcome.get("status"), str(outcome.get("reason", ""))
    return status == TIMEOUT or (status == FAILED and is_lost(reason))


def _decoded(content: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(content)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}
