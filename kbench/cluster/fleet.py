"""The workers of a Dask cluster: which can measure, and what they are measuring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from kbench.cluster import worker as on_worker
from kbench.cluster.machines import different, selected, slug, title
from kbench.cluster.messages import Machine, Order, Result, decode, encode
from kbench.cluster.schedule import Worker


class Fleet:
    """All workers of a cluster, through Dask's `client`."""

    def __init__(self, client: Any, expected: Machine, select: Mapping[str, str], say: Callable[[str], None]) -> None:
        """`expected` is the client's own machine; `select` is what the workers' machines must have."""
        self._client, self._expected, self._select, self._say = client, expected, select, say
        self._known: dict[str, Worker | None] = {}  # None if it cannot be used
        self._topic = f"kbench-{client.id}"
        client.subscribe_topic(self._topic, self._heard)

    def workers(self) -> list[Worker]:
        """The workers that can measure. Says once why another one cannot. Raises ConnectionError."""
        there = self._addresses()
        for gone in self._known.keys() - there:
            del self._known[gone]
        new = sorted(there - self._known.keys())
        described = self._client.run(on_worker.describe, workers=new, on_error="return") if new else {}
        for address in new:
            self._known[address] = self._described(address, described.get(address))
        return [one for one in self._known.values() if one is not None]

    def submit(self, order: Order, worker: Worker) -> Any:
        """Have a worker measure an order."""
        return self._client.submit(
            on_worker.measure,
            encode(order),
            self._topic,
            workers=[worker.address],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )

    def result(self, future: Any) -> Result:
        """The result of a finished order; a failed one if there is none."""
        try:
            message = future.result(timeout=60)
            if not isinstance(message, bytes):
                raise ValueError("not a message")
            return decode(message, Result)
        except ValueError as error:
            return Result(status="failed", reason=f"its result is damaged ({error})")
        except Exception as error:  # anything that Dask or the worker raised
            return Result(status="failed", reason=" ".join(f"{type(error).__name__}: {error}".split())[:300])

    def cancel(self, futures: list[Any]) -> None:
        """Have the workers stop measuring these."""
        if futures:
            self._client.cancel(futures, force=True)

    def _addresses(self) -> set[str]:
        if self._client.status != "running":
            raise ConnectionError("the scheduler is gone")
        return set(self._client.scheduler_info()["workers"])

    def _described(self, address: str, message: object) -> Worker | None:
        try:
            if not isinstance(message, bytes):
                raise ValueError(str(message) or type(message).__name__)
            machine = decode(message, Machine)
        except ValueError as error:
            hint = "install the same kbench there"
            self._say(f"{address} is not used: it cannot run kbench ({' '.join(str(error).split())[:200]}): {hint}.")
            return None
        if problem := different(machine, self._expected):
            self._say(f"{address} is not used: {problem}.")
            return None
        if not selected(machine, self._select):
            self._say(f"{address} is not selected: {title(machine)}.")
            return None
        return Worker(address, urlsplit(address).hostname or address, slug(machine), machine)

    def _heard(self, event: tuple[Any, Any]) -> None:
        _, message = event
        if isinstance(message, dict):
            worker = self._known.get(str(message.get("worker")))
            self._say(f"[{worker.host if worker else message.get('worker')}] {message.get('line')}")
