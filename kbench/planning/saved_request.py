"""A plan as run.json keeps it, and the plan that is made from there again when a run is gone on with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from kbench import paths
from kbench.environments.interpreters import Choice
from kbench.errors import UserError
from kbench.machine import devices
from kbench.planning import plan
from kbench.planning.plan import Plan, Request
from kbench.selection import examples
from kbench.selection.names import Backends, Examples
from kbench.values import Backend, Device


def record(the_plan: Plan) -> dict[str, Any]:
    """What was asked for, JSON-able; paths below the user's home folder begin with `~`."""
    request = the_plan.request
    return {
        **asdict(request),
        "data_dir": paths.portable(request.data_dir) if request.data_dir else None,
        "threads": the_plan.threads,
        "device": the_plan.device.label,
        "backends": [backend.name for backend in the_plan.backends],
        "named_backends": sorted(the_plan.named_backends),
        "examples": [paths.portable(example.path) for example in the_plan.examples],
        "named_examples": sorted(the_plan.named_examples),
        "pythons": {
            name: {"path": paths.portable(choice.path), "as_is": choice.as_is}
            for name, choice in the_plan.pythons.items()
        },
    }


def again(asked: object, known: Mapping[str, Backend], gpus: Sequence[Device], run: Path) -> Plan:
    """The plan for what `record` kept, from today's files of backends and examples. Raises UserError."""
    if not isinstance(asked, dict) or "backends" not in asked:
        raise UserError(f"{run} does not tell how it was asked for, as runs of older versions: measure it anew.")
    try:
        gone = [name for name in asked["backends"] if name not in known]
        if gone:
            raise UserError(f"{run} has the backend {gone[0]}, which kbench does not know any more: measure it anew.")
        values = {field.name: asked[field.name] for field in fields(Request) if field.name in asked}
        values["pass_env"] = tuple(asked.get("pass_env") or ())
        _check(asked, values)
        values["data_dir"] = paths.expanded(asked["data_dir"]) if asked.get("data_dir") else None
        return plan.make(
            Backends(tuple(known[name] for name in asked["backends"]), frozenset(asked["named_backends"])),
            Examples(
                tuple(examples.load(paths.expanded(path)) for path in asked["examples"]),
                frozenset(asked["named_examples"]),
            ),
            Request(**values),
            devices.choose(asked["device"], gpus),
            {
                name: Choice(paths.expanded(choice["path"]), bool(choice["as_is"]))
                for name, choice in asked["pythons"].items()
            },
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise UserError(f"{run / 'run.json'} is damaged: what was asked for cannot be read from it.") from error


def _check(asked: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Raises TypeError or ValueError where a value is none that the command line could have given."""
    for name in ("backends", "named_backends", "examples", "named_examples"):
        if not _are_texts(asked[name]) or (name in ("backends", "examples") and not asked[name]):
            raise TypeError(name)
    for name in ("profile", "image_data_format", "seeds", "init", "data_source", "baseline"):
        if not isinstance(values.get(name, ""), str):
            raise TypeError(name)
    for name in ("repeats", "seed", "epochs", "samples", "batch_size", "threads"):
        value = values.get(name)
        if type(value) is not int and not (value is None and name not in ("repeats", "seed")):
            raise TypeError(name)
        if value is not None and value < (name != "seed"):
            raise ValueError(name)
    for name in ("timeout", "memory_limit_mib"):
        value = values.get(name)
        if value is not None and (type(value) not in (int, float) or not value > 0):
            raise ValueError(name)
    if not isinstance(values.get("augment", False), bool) or not _are_texts(list(values["pass_env"])):
        raise TypeError("augment or pass_env")


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
