"""Reads what run.json was in schema 2: requests and cells had a field for each of most axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kbench.records import axes

SCHEMA = 2
_FIELDS = (axes.EXAMPLE, axes.BACKEND, axes.LAYOUT, axes.DEVICE, axes.BATCH_SIZE, axes.SAMPLES, axes.THREADS)

_ASKED = (axes.DEVICE, axes.LAYOUT, axes.BATCH_SIZE, axes.SAMPLES, axes.THREADS, axes.TASK)


def upgraded(record: Mapping[str, Any]) -> dict[str, Any]:
    """The contents of run.json in schema 3."""
    request, plan = record.get("request"), record.get("plan")
    if isinstance(request, dict):
        record = {**record, "request": request_upgraded(request)}
    if not isinstance(plan, dict) or not isinstance(plan.get("cells"), list):
        return {**record, "schema": SCHEMA + 1}
    examples = plan.get("examples")
    cells = [_cell(one, examples if isinstance(examples, dict) else {}) for one in plan["cells"]]
    return {**record, "schema": SCHEMA + 1, "plan": {**plan, "cells": cells}}


def request_upgraded(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The request, in which these were fields."""
    values = {name: asked[name] for name in _ASKED if asked.get(name)}
    return {**{name: value for name, value in asked.items() if name not in _ASKED}, "values": values}


def _cell(cell: object, examples: Mapping[str, Any]) -> object:
    """A cell with its value on each axis; of one that is damaged what there is."""
    if not isinstance(cell, dict) or not isinstance(varied := cell.get("axes", {}), dict):
        return cell
    values = {name: cell[name] for name in _FIELDS if name in cell}
    example = examples.get(cell.get(axes.EXAMPLE, ""))
    task = example.get("task") if isinstance(example, dict) else None
    rest = {name: value for name, value in cell.items() if name not in (*_FIELDS, "axes")}
    others = {axis.name: axis.default for axis in axes.of_cells() if axis.default is not None}
    others |= {axes.TASK: task or "train"}
    return {**rest, "values": {**others, **values, **varied}, "varied": list(varied)}
