"""How much processes of a backend differ, as was measured: the prior of a row's spread."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from fake_runs import cell

from kbench.analysis.times import spreads
from kbench.analysis.times.levels import SPREADS, Numbers
from kbench.analysis.times.spreads import GENERAL, OTHER, RECURRENT, Processes

ALL = ("", "")


def rows(backend: str, spread: float, count: int = 8, kind: str = OTHER, processes: int = 4) -> list[Processes]:
    random = np.random.default_rng(count)
    drawn = random.normal(0, spread, (count, processes))
    return [Processes(backend, kind, tuple(one), (0.0,) * processes) for one in drawn.tolist()]


def usual(prior: Numbers) -> float:
    """The middle of a prior: a spread."""
    return math.exp(float(np.log(SPREADS) @ prior))


def test_a_backend_whose_rows_spread_more_has_more_weight_on_large_spreads() -> None:
    found = spreads.fit([*rows("a", 0.01), *rows("b", 0.2)])
    assert usual(found["a", ""]) < 0.5 * usual(found["b", ""])
    assert usual(found["a", ""]) < usual(found[ALL]) < usual(found["b", ""])
    large = SPREADS > 0.1
    assert found["b", ""][large].sum() > 0.4 > 0.2 > found["a", ""][large].sum()


def test_recurrent_models_have_a_prior_of_their_own() -> None:
    found = spreads.fit([*rows("a", 0.01), *rows("a", 0.2, kind=RECURRENT)])
    assert usual(found["a", OTHER]) < usual(found["a", ""]) < usual(found["a", RECURRENT])


def test_of_a_backend_with_few_rows_the_others_say_most() -> None:
    many = rows("b", 0.01, 20)
    few, more = (spreads.fit([*many, *rows("a", 0.2, count)])["a", ""] for count in (1, int(3 * GENERAL)))
    assert usual(few) < usual(more)
    assert few[SPREADS < 0.05].sum() > 0.5


def test_rows_of_one_process_say_nothing_of_spreads() -> None:
    single = Processes("a", OTHER, (0.0,), (0.0,))
    (flat,) = spreads.fit([single]).values()
    assert flat == pytest.approx(1 / len(SPREADS))
    known, beside = (spreads.fit(there) for there in (rows("b", 0.1), [*rows("b", 0.1), single]))
    assert known.keys() == beside.keys() and all((known[name] == beside[name]).all() for name in known)


def test_a_prior_is_a_distribution_in_which_nothing_is_impossible() -> None:
    for prior in spreads.fit([*rows("a", 0.01, 40), *rows("b", 0.2, 1)]).values():
        assert prior.sum() == pytest.approx(1) and prior.min() > 0


def test_a_row_has_the_prior_of_its_backend_and_kind_or_the_next_more_general_one() -> None:
    priors = spreads.fit([*rows("a", 0.01), *rows("b", 0.2, kind=RECURRENT)])
    assert spreads.prior(priors, "a", OTHER) is priors["a", OTHER]
    assert spreads.prior(priors, "a", RECURRENT) is priors["a", ""]
    assert spreads.prior(priors, "c", OTHER) is priors[ALL]


SPECIAL = ["a@0.9", "a+jit=off", "a workers=2", "a threads=1", "a+jit=off workers=2 threads=1"]


@pytest.mark.parametrize("name", SPECIAL)
def test_rows_that_are_run_in_another_way_count_for_rows_like_themselves_alone(name: str) -> None:
    plain = [*rows("a", 0.01), *rows("b", 0.02)]
    before, found = spreads.fit(plain), spreads.fit([*plain, *rows(name, 0.3, 50)])
    assert all((found[one] == prior).all() for one, prior in before.items())
    assert usual(spreads.prior(found, name, OTHER)) > 5 * usual(spreads.prior(found, "a", OTHER))
    for other in {*SPECIAL} - {name, "a+jit=off workers=2 threads=1"}:
        assert (spreads.prior(found, other, OTHER) == spreads.prior(found, "a", OTHER)).all()


def test_a_row_that_is_run_in_another_way_has_the_prior_of_the_next_more_general_one() -> None:
    rare = "a+jit=off workers=2 threads=1"
    assert spreads.more_general(rare) == [rare, "a+jit=off workers=2", "a+jit=off", "a"]
    known = rows("a", 0.01)
    for name in ("a", "a+jit=off", "a+jit=off workers=2", rare):
        priors = spreads.fit([*known, *rows(name, 0.2)])
        assert spreads.prior(priors, rare, OTHER) is priors[name, OTHER]


def test_a_process_with_as_many_threads_as_the_machine_has_cores_is_a_usual_one() -> None:
    def named(usual_threads: int, **values: object) -> str:
        return spreads.configuration(cell("a", "x/y@0.9").at(**values), usual_threads)  # type: ignore[arg-type]

    assert named(4, threads=4) == named(4, threads=0) == "x/y@0.9"
    assert named(4, threads=2) == named(0, threads=2) == "x/y@0.9 threads=2"


def test_priors_are_recorded_with_a_run_and_read_from_it() -> None:
    priors = spreads.fit([*rows("a", 0.01), *rows("b", 0.2, kind=RECURRENT)])
    read = spreads.from_record(json.loads(json.dumps(spreads.record(priors))))
    assert read is not None and read.keys() == priors.keys()
    for name, prior in priors.items():
        assert read[name] == pytest.approx(prior, abs=1e-6)


WHOLE = [1 / len(SPREADS)] * len(SPREADS)


@pytest.mark.parametrize(
    "kept",
    [
        [],
        [["", "", WHOLE[1:]]],  # on another grid
        [["", "", WHOLE], "?"],
        [["", "", WHOLE], ["a", 1, WHOLE]],
        [["a", "", WHOLE]],  # that of all backends is missing
        [["", "", [*WHOLE[1:], math.nan]]],
        [["", "", [*WHOLE[1:], None]]],
        [["", "", [*WHOLE[1:], "many"]]],
        [["", "", [*WHOLE[1:], [1.0]]]],
        [["", "", [*WHOLE[1:], 10**400]]],
        [["", "", [*WHOLE[1:], -0.5]]],
        [["", "", [0.0] * len(SPREADS)]],
    ],
)
def test_a_damaged_record_gives_none(kept: list[object]) -> None:
    assert spreads.from_record(kept) is None


def test_rows_are_written_and_read(tmp_path: Path) -> None:
    made = [Processes("a/b", RECURRENT, (0.125, -0.5), (0.0, 0.25), "a run, of mine", "mnist_mlp")]
    spreads.write(tmp_path / "rows.csv", made)
    assert spreads.read(tmp_path / "rows.csv") == made
    assert spreads.read(tmp_path / "none.csv") == []


def test_each_row_that_comes_with_kbench_has_as_many_errors_as_processes() -> None:
    shipped = spreads.read()
    assert len(shipped) > 50
    for row in shipped:
        assert len(row.logs) == len(row.errors) > 1
        assert row.backend and row.example and row.source and row.kind in (RECURRENT, OTHER)
        assert all(map(math.isfinite, row.logs)) and min(row.errors) >= 0


def test_the_priors_that_come_with_kbench_are_of_processes_that_mostly_differ_by_a_few_percent() -> None:
    prior = spreads.shipped()[ALL]
    assert 0.01 < usual(prior) < 0.05
    assert 0 < prior[SPREADS > 0.1].sum() < 0.1
