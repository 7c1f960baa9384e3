"""Threads and cores are read between two steps, so that what is set at both ends of an epoch shows."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

from guest_modules import guest


def test_they_are_read_once_an_epoch_before_a_step_that_is_drawn(tmp_path: Any) -> None:
    asked: list[int] = []

    def threads() -> dict[str, int]:
        asked.append(1)
        return {"intra_op": len(asked)}

    with guest(tmp_path, "training.within_steps") as (module,):
        within = module.WithinSteps(SimpleNamespace(threads=threads), 50)
        places = set()
        for epoch in range(1, 21):
            for number in range(50):
                within.step(number)
                if len(asked) == epoch:
                    places.add(number)
                    break
            assert within.found == {"threads": {"intra_op": epoch}, "cores": len(os.sched_getaffinity(0))}
            within.next_epoch()
            assert within.found == {}
    assert len(places) > 1
