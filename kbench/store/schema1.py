"""Reads what run.json was in schema 1: the request was a part of the plan, with copies of its fields beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SCHEMA = 1
# What can have several values now.
_SEVERAL = ("batch_size", "samples", "threads", "image_data_format", "device")
# What the plan had besides the request and those copies.
_OF_PLAN = ("kind", "form", "cells", "backends", "examples")


def upgraded(record: Mapping[str, Any]) -> dict[str, Any]:
    """The contents of run.json in schema 2."""
    plan = record.get("plan")
    if not isinstance(plan, dict):
        return {**record, "schema": SCHEMA + 1}
    request = plan.get("request")
    if not isinstance(request, dict):  # the first versions kept only the copies
        request = {name: value for name, value in plan.items() if name not in (*_OF_PLAN, "request")}
    kept = {name: plan[name] for name in _OF_PLAN if name in plan}
    if isinstance(cells := kept.get("cells"), list) and isinstance(request.get("threads"), int):
        kept["cells"] = [{"threads": request["threads"], **one} if isinstance(one, dict) else one for one in cells]
    return {**record, "schema": SCHEMA + 1, "request": request_upgraded(request), "plan": kept}


def request_upgraded(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The request, in which these had one value each, and extra repeats another name."""
    found = dict(asked)
    if "further" in found:
        found["extra_repeats"] = found.pop("further")
    for name in _SEVERAL:
        if name in found and not isinstance(value := found[name], list):
            found[name] = [] if value is None else [value]
    return found
