"""What became of a public name, where runs have tried other cases of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from fake_runs import request

from kbench.environments import locks
from kbench.features.coverage import cover
from kbench.features.coverage import versions as coverage
from kbench.features.coverage.values import STATES, CaseResult, NameResult, ProbeCase
from kbench.features.coverage.versions import Side
from kbench.session.events import SessionNote

NAME = "layers.Dense"


def side(cases: Mapping[int, str]) -> Side:
    """A backend with this name, whose cases (the value of a setting) came to these states."""
    found = tuple(
        CaseResult(ProbeCase(number, NAME, {"units": units}, ("image",)), "keras9/a", state, "how")
        for number, (units, state) in enumerate(cases.items())
    )
    name = NameResult(NAME, "keras9/a", min(cases.values(), key=STATES.index), found)
    return Side("keras9/a", "keras9/a", {NAME: name}, {}, frozenset(), "", frozenset())


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ({1: "same"}, {1: "same", 2: "same"}, "as before"),
        ({1: "same"}, {1: "same", 2: "crashes"}, "broke"),
        ({1: "same"}, {2: "raises"}, "broke"),
        ({1: "same", 2: "not run"}, {1: "same", 2: "hangs"}, "broke"),
        ({1: "raises"}, {1: "raises", 2: "raises"}, "as before"),
        ({1: "raises"}, {1: "raises", 2: "crashes"}, "changed"),
        ({1: "raises", 2: "same"}, {1: "same", 2: "same"}, "mended"),
        ({1: "raises", 2: "raises"}, {1: "same", 2: "raises"}, "changed"),
        ({1: "hangs", 2: "not run"}, {1: "same", 2: "raises"}, "changed"),
        ({1: "same", 2: "raises"}, {1: "same"}, "not tried"),
        ({1: "same", 2: "raises"}, {1: "same", 2: "not run"}, "not tried"),
        ({1: "raises", 2: "crashes"}, {1: "raises"}, "as before"),
    ],
)
def test_a_case_that_was_not_tried_before_counts_where_it_makes_the_name_worse(
    before: Mapping[int, str], after: Mapping[int, str], what: str
) -> None:
    found = coverage.compared(side(before), side(after))
    whats = [change.what for change in found.changes] + ["as before"] * found.same + ["not tried"] * found.unknown
    assert whats == [what]


def test_the_version_that_a_backend_is_named_with_is_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiled(backend: object, wanted: str, indexes: object, folder: Path, how: object) -> Path:
        (folder / "new.lock").write_text(wanted)
        return folder / "new.lock"

    monkeypatch.setenv("KBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(locks, "_compiled", compiled)
    told: list[object] = []
    asked = request(backends=("keras3/jax+keras=3.13.2",), examples=(cover.SUBJECT,), device=("cpu",))
    plan = cover.planned(asked, (), told.append)
    (lock,) = (one.lock for one in plan.backends[0].builds if one.device == "cpu")
    assert lock and "keras==3.13.2" in lock.read_text()
    assert told == [
        SessionNote("keras3/jax+keras=3.13.2: finding its versions (" + ", ".join(lock.read_text().split()) + ")")
    ]
    assert not plan.impossible
