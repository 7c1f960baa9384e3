"""Divides a request into blocks, and makes the order of a block: all that a worker needs to measure it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from kbench.base import paths
from kbench.cells.place import Place
from kbench.errors import UserError
from kbench.features.cluster.block import BACKENDS, EXAMPLES
from kbench.features.cluster.folder import ClusterRun
from kbench.features.cluster.messages import Block, BlockOrder
from kbench.features.coverage.results import generation
from kbench.machine import devices
from kbench.planning.plan import cells_of
from kbench.planning.request import Request
from kbench.records import axes
from kbench.records.values import NATIVE, Cell, Device, Example
from kbench.selection import examples
from kbench.selection.known import known_backends
from kbench.session import further

MOST_BYTES = 2**24  # of the user's own files together
_OF_BACKENDS = ("*.toml", "*.lock", "*.c", "*.py")


def blocks(request: Request, chosen: Sequence[Example]) -> tuple[Block, ...]:
    """One block for each example and repeat. Repeats for --precision belong to the block of the first one."""
    repeats = range(1, request.repeats + 1)
    return tuple(Block(example=example.name, repeat=repeat) for example in chosen for repeat in repeats)


def blocks_of_coverage(request: Request) -> tuple[Block, ...]:
    """One block for each generation of Keras: what one of its backends saves, the others load."""
    return tuple(Block(example=one, repeat=1) for one in dict.fromkeys(map(generation, request.backends)))


def sent(request: Request, examples: int, threads: tuple[int, ...] | None) -> dict[str, Any]:
    """The request without what each machine chooses; each block has its share of the budget."""
    asked: dict[str, Any] = msgspec.to_builtins(request)
    left_out = (axes.DEVICE,) if threads else (axes.DEVICE, axes.THREADS)
    asked["values"] = {name: values for name, values in request.values.items() if name not in left_out}
    if request.budget:
        asked["budget"] = request.budget / examples
    return asked


def machines(asked: Mapping[str, Any]) -> int:
    """How many machines a block of this request, as it is sent, takes at once."""
    return max(asked["values"][axes.WORKERS]) if asked.get("worker_per_machine") else 1


class Orders:
    """The orders of a run's blocks, and what is planned for each."""

    def __init__(self, record: ClusterRun) -> None:
        """Raises UserError if a file is missing or is no example."""
        self._record = record
        self._known = known_backends()
        files = () if record.tried else record.request["examples"]
        loaded = [examples.load(paths.with_home(path)) for path in files]
        self._examples = {one.name: one for one in loaded}
        self._backends = _own_backends()

    def of(self, block: Block, hosts: Sequence[str]) -> list[BlockOrder]:
        """The block's orders for these machines: several have a worker each."""
        order = self._of(block)
        if len(hosts) == 1:
            return [order]
        token = secrets.token_hex(8)
        return [replace(order, place=Place(rank, tuple(hosts), token)) for rank in range(len(hosts))]

    def cells(self, block: Block, chosen: Request) -> list[Cell]:
        """Those of a plan for the block, as its machine has `chosen`: devices, threads, and which further processes
        undecided rows have. Raises UserError.
        """
        asked = msgspec.convert(self._record.request, Request)
        labels = map(str, chosen.on(axes.DEVICE))
        on = dict.fromkeys(_device(*one) for one in zip(self._record.device.split(","), labels, strict=False))
        has_threads = axes.THREADS in self._record.request["values"]
        asked = replace(
            asked.at(
                **{
                    axes.DEVICE: tuple(one.label for one in on),
                    axes.THREADS: (asked if has_threads else chosen).on(axes.THREADS),
                }
            ),
            extra_repeats=chosen.extra_repeats if asked.precision else {},
            short=chosen.short if further.wanted(asked) else {},
        )
        planned = cells_of(asked, self._examples[block.example], self._known, [*on])
        return [cell for cell in planned if cell.repeat == block.repeat or cell.repeat > asked.repeats]

    def _of(self, block: Block) -> BlockOrder:
        record = self._record
        if record.tried:
            backends = [one for one in record.request["backends"] if generation(one) == block.example]
            request = {**record.request, "backends": backends}
            order = BlockOrder(block=block, request=request, device=record.device, argv=record.argv)
            return replace(order, files=self._backends, tried=record.tried)
        example = self._examples[block.example]
        own = example.path.is_relative_to(paths.project_folder("examples_models"))
        below = example.path.relative_to(paths.project_folder("examples_models")) if own else example.path
        return BlockOrder(
            block=block,
            request=record.request,
            device=record.device,
            path=str(below) if own else paths.portable(below),
            sha256=example.sha256,
            argv=record.argv,
            files={**self._backends, **({} if own else _own_example(example))},
        )


def _device(asked: str, label: str) -> Device:
    """What is called so, if `--device` may choose it. Raises UserError if not, or if nothing is called so."""
    _, is_gpu, number = devices.parsed(label)
    return devices.choose(asked, [Device("gpu", int(number))] if is_gpu else [])


def _own_example(example: Example) -> dict[str, bytes]:
    """The user's example and its twins."""
    twins = example.path.parent.glob(f"{NATIVE}/*/{example.name}.py")
    files = {f"{EXAMPLES}/{one.relative_to(example.path.parent)}": one for one in (example.path, *twins)}
    return {name: path.read_bytes() for name, path in files.items()}


def _own_backends() -> dict[str, bytes]:
    """The files of the user's own backends, with their twins. Raises UserError if they are too large."""
    folder = paths.further_backends()
    if folder is None:
        return {}
    found: Mapping[str, Path] = {
        f"{BACKENDS}/{one.relative_to(folder)}": one for kind in _OF_BACKENDS for one in folder.rglob(kind)
    }
    if sum(path.stat().st_size for path in found.values()) > MOST_BYTES:
        raise UserError(f"KBENCH_BACKENDS: {folder} has more than {MOST_BYTES >> 20} MiB, too much to send.")
    return {name: path.read_bytes() for name, path in found.items()}
