"""The schema of run.json, and the reader of each earlier one: each makes of a record one of the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kbench.store import schema1, schema2

SCHEMA = 3
OLDEST = schema1.SCHEMA
_READERS: Mapping[int, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    schema1.SCHEMA: schema1.upgraded,
    schema2.SCHEMA: schema2.upgraded,
}


def request_upgraded(asked: Mapping[str, Any], schema: object) -> dict[str, Any]:
    """A request of an earlier schema in the current one."""
    found = schema1.request_upgraded(asked) if schema == schema1.SCHEMA else dict(asked)
    return schema2.request_upgraded(found) if schema in (schema1.SCHEMA, schema2.SCHEMA) else found


def upgraded(record: Mapping[str, Any]) -> dict[str, Any]:
    """The contents of run.json in the current schema; of an unknown one as they are."""
    found = dict(record)
    while isinstance(schema := found.get("schema"), int) and schema in _READERS:
        found = _READERS[schema](found)
    return found
