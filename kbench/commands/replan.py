"""A plan as run.json keeps it, and the plan that is made from there again when a run is gone on with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from kbench import devices, examples, paths, plan, specs
from kbench.errors import UserError
from kbench.interpreters import Choice
from kbench.plan import Plan, Request
from kbench.selection import Backends, Examples
from kbench.values import Backend, Device


def record(the_plan: Plan) -> dict[str, Any]:
    """What was asked for, JSON-able; paths below the user's home folder begin with `~`."""
    request = the_plan.request
    return {
        **asdict(request),
        "data_dir": specs.portable(request.data_dir) if request.data_dir else None,
        "threads": the_plan.threads,
        "device": the_plan.device.label,
        "backends": [backend.name for backend in the_plan.backends],
        "named_backends": sorted(the_plan.named_backends),
        "examples": [specs.portable(example.path) for example in the_plan.examples],
        "named_examples": sorted(the_plan.named_examples),
        "pythons": {
            name: {"path": specs.portable(choice.path), "as_is": choice.as_is}
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
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise UserError(f"{run / 'run.json'} is damaged: what was asked for cannot be read from it.") from error
