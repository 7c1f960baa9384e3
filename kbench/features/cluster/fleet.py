"""The workers of a Dask cluster: which can measure, and what they are measuring."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from kbench.features.cluster import worker as on_worker
from kbench.features.cluster.machines import different, selected, slug, title
from kbench.features.cluster.messages import BlockOrder, Machine, Result, decode, encode
from kbench.features.cluster.schedule import Worker
from kbench.words.text import plain

GONE = "the scheduler is gone"
RESULT_SECONDS = 60.0
LOOK_SECONDS = 1.0  # between two looks at which workers there are
# Evaluated on a new worker: one without kbench would end if it were given a function of kbench.
DESCRIBE = "__import__('importlib').import_module('kbench.features.cluster.worker').describe()"


class Fleet:
    """All workers of a cluster, through Dask's `client`."""

    def __init__(self, client: Any, expected: Machine, select: Mapping[str, str], say: Callable[[str], None]) -> None:
        """`expected` is the client's own machine; `select` is what the workers' machines must have."""
        self._client, self._expected, self._select, self._say = client, expected, select, say
        self._known: dict[str, Worker | None] = {}  # None if it cannot be used
        self._asked: dict[str, Any] = {}  # futures of their descriptions
        self._there, self._looked = set[str](), -math.inf
        self._topic = f"kbench-{client.id}"
        client.subscribe_topic(self._topic, self._heard)

    def workers(self) -> list[Worker]:
        """The workers that can measure. Says once why another one cannot. Raises ConnectionError."""
        there = self._addresses()
        for of_address in (self._known, self._asked):
            for gone in of_address.keys() - there:
                del of_address[gone]
        for address in there - self._known.keys() - self._asked.keys():
            self._asked[address] = self._submit(address, eval, DESCRIBE)
        for address in [address for address, answer in self._asked.items() if answer.done()]:
            self._known[address] = self._described(address, self._asked.pop(address))
        return [one for one in self._known.values() if one is not None]

    def submit(self, order: BlockOrder, worker: Worker) -> Any:
        """Have a worker measure an order; returns Dask's future."""
        return self._submit(worker.address, on_worker.measure, encode(order), self._topic)

    def result(self, future: Any) -> Result:
        """The result of a finished order; a failed one if there is none."""
        try:
            return decode(message(future), Result)
        except ValueError as error:
            return Result(status="failed", reason=str(error))

    def cancel(self, futures: list[Any]) -> None:
        """Have the workers stop measuring these."""
        if futures:
            self._client.cancel(futures, force=True)

    def _addresses(self) -> set[str]:
        if self._client.status != "running":
            raise ConnectionError(GONE)
        if time.monotonic() > self._looked + LOOK_SECONDS:
            try:
                self._there = set(self._client.scheduler_info()["workers"])
            except (OSError, TimeoutError) as error:  # it goes at this moment
                raise ConnectionError(GONE) from error
            self._looked = time.monotonic()
        return self._there

    def _submit(self, address: str, function: Callable[..., bytes], *arguments: object) -> Any:
        here_only = {"workers": [address], "allow_other_workers": False}
        return self._client.submit(function, *arguments, **here_only, pure=False, retries=0)

    def _described(self, address: str, answer: Any) -> Worker | None:
        try:
            machine = decode(message(answer), Machine)
        except ValueError as error:
            hint = "install the same kbench there and at the scheduler"
            self._say(f"{address} is not used, because it cannot run kbench ({error}): {hint}.")
            return None
        if problem := different(machine, self._expected):
            self._say(f"{address} is not used: {problem}.")
            return None
        if not selected(machine, self._select):
            self._say(f"{address} is not selected: {title(machine)}.")
            return None
        return Worker(address, urlsplit(address).hostname or address, slug(machine))

    def _heard(self, event: tuple[Any, Any]) -> None:
        _, heard = event
        if isinstance(heard, dict):
            worker = self._known.get(str(heard.get("worker")))
            self._say(plain(f"[{worker.host if worker else heard.get('worker')}] {heard.get('line')}"))


def message(future: Any) -> bytes:
    """What a finished future returned. Raises ValueError.

    An error that was raised on the worker is not looked at: it comes as a pickle, which could run code here.
    """
    if future.status != "finished":
        raise ValueError("Dask could not run it; the log of the worker or the scheduler says why")
    try:
        found = future.result(timeout=RESULT_SECONDS)
    except Exception as error:  # it is gone, or not of a type that is accepted
        raise ValueError(f"its result cannot be read ({type(error).__name__})") from None
    if not isinstance(found, bytes):
        raise ValueError("its result is not a message")
    return found
