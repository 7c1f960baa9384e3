"""Per cent of the machine's limit: the least time that a sample could take, over the time that it took."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from fake_runs import cell, known, measured, summary

from kbench.analysis.summaries import summarise
from kbench.features.limit import roofline
from kbench.features.limit.roofline import Limits
from kbench.summary import Summary
from kbench.tables import columns, content, text

# Without a bias: 2 x 4 x 3 = 24 operations forward, and as many for the gradient by the weights.
DENSE = {
    "class": "Dense",
    "settings": {"units": 3},
    "weights": [[4, 3]],
    "inputs": [[4]],
    "output": [3],
    "uses": 1,
    "trained": True,
    "fed_by_data": True,
}
FACTS: dict[str, Any] = {"task": "train", "layer_shapes": [DENSE], "input_shapes": [[4]]}
FAST_MEMORY = Limits(operations_per_second=4800.0, bytes_per_second=1e12)


def row(limits: Limits | None, seconds: float = 1.0, facts: dict[str, Any] = FACTS, **changes: Any) -> Summary:
    """A row of 10 samples an epoch."""
    one, provenance = cell(samples=10, batch_size=2, **changes), {"limits": limits and asdict(limits)}
    return summarise([measured(one, 9.0, seconds, facts=facts)], provenance=provenance)[0]


def percent(limits: Limits | None, *given: Any, **more: Any) -> Any:
    return row(limits, *given, **more).value("percent_of_limit")


def operations(limits: Limits | None, *given: Any, **more: Any) -> Any:
    return row(limits, *given, **more).value("operations_per_sample")


def shown(percent_of_limit: float, **more: Any) -> Summary:
    return summary(of_features={"percent_of_limit": percent_of_limit}, **more)


def test_of_start_and_end_the_larger_rates_count() -> None:
    start = {"threads": 2, "operations_per_second": 5.0, "matrix": 8, "bytes_per_second": 3.0, "array_bytes": 16}
    end = {"threads": 2, "operations_per_second": 4.0, "matrix": 4, "bytes_per_second": 6.0, "array_bytes": 32}
    both = {"threads": 2, "operations_per_second": 5.0, "matrix": 8, "bytes_per_second": 6.0, "array_bytes": 32}
    assert roofline.larger({"limits": start, "ended": {"limits": end}}) == both
    assert roofline.larger({"limits": start, "ended": {"limits": None}}) == start
    assert roofline.larger({"limits": start, "ended": {"time": "an earlier kbench"}}) == start
    assert roofline.larger({"limits": None, "ended": {"limits": end}}) == end
    for wrong in (float("nan"), float("inf"), "9", None):
        edited = {**end, "operations_per_second": wrong}
        assert roofline.larger({"limits": start, "ended": {"limits": edited}}) == both, wrong
    assert roofline.larger({"limits": "?", "ended": "?"}) == roofline.larger({}) == {}


def test_arithmetic_is_the_limit_where_memory_is_fast() -> None:
    # 48 operations at 4800 a second take 0.01 s; the sample took 1 s / 10.
    assert operations(FAST_MEMORY) == 48
    assert percent(FAST_MEMORY) == pytest.approx(10.0)
    assert operations(FAST_MEMORY, facts={**FACTS, "task": "infer"}) == 24
    assert percent(FAST_MEMORY, seconds=0.1) == pytest.approx(100.0)


def test_memory_is_the_limit_where_arithmetic_is_fast() -> None:
    # A sample of 4 x 4 bytes, and half of reading and writing 12 x 4 bytes of weights: 64 bytes.
    assert percent(Limits(1e12, 6400.0)) == pytest.approx(10.0)
    # Nothing is written where nothing is trained: 16 + 24 bytes.
    assert percent(Limits(1e12, 4000.0), facts={**FACTS, "task": "infer"}) == pytest.approx(10.0)


def test_weights_that_fit_into_the_cache_and_rows_of_an_embedding_need_not_move() -> None:
    work = roofline.work(known(**FACTS))
    assert work is not None
    assert roofline.least_bytes(work, 2) == 64
    assert roofline.least_bytes(work, 2, cache_bytes=48) == 16
    assert roofline.least_bytes(work, 2, cache_bytes=47) == 64
    embedding = roofline.work(known(**{**FACTS, "layer_shapes": [DENSE, {**DENSE, "class": "Embedding"}]}))
    assert embedding is not None and roofline.least_bytes(embedding, 2) == 64


def test_without_a_limit_a_time_or_layers_nothing_is_said() -> None:
    assert percent(None) is None and operations(None) == 48
    assert percent(FAST_MEMORY, facts={}) is None
    assert operations(FAST_MEMORY, facts={"layer_shapes": ["x"]}) is None
    (one_epoch,) = summarise([measured(cell(), 9.0, facts=FACTS)], provenance={"limits": asdict(FAST_MEMORY)})
    assert one_epoch.value("percent_of_limit") is None
    assert percent(FAST_MEMORY, device="gpu:0") is None


@pytest.mark.parametrize(
    "told",
    [
        None,
        [],
        {},
        {"operations_per_second": 1.0},
        {"operations_per_second": 0, "bytes_per_second": 1.0},
        {"operations_per_second": "fast", "bytes_per_second": 1.0},
        {"operations_per_second": float("nan"), "bytes_per_second": 1.0},
    ],
    ids=str,
)
def test_limits_that_are_none_are_none(told: object) -> None:
    assert roofline.limits(told) is None


def test_limits_are_read_from_the_record() -> None:
    told = {"operations_per_second": 2.0, "bytes_per_second": 3, "cache_bytes": None, "threads": 2}
    assert roofline.limits(told) == Limits(2.0, 3.0)
    assert roofline.limits({**told, "cache_bytes": 4}) == Limits(2.0, 3.0, 4)


def test_layers_that_are_not_known_are_named_below_the_table() -> None:
    found = row(FAST_MEMORY, facts={**FACTS, "layer_shapes": [DENSE, {**DENSE, "class": "Mine"}]})
    assert found.value("operations_per_sample") == 48
    assert found.notes == ("operations of Mine are not counted",)


def test_the_column_is_there_where_something_is_known_and_the_first_that_narrow_pages_leave_out() -> None:
    assert "% of limit" not in content.table([summary()]).columns
    one = content.table([shown(12.34)])
    assert dict(zip(one.columns, one.rows[0], strict=True))["% of limit"] == "12"
    assert one.optional[0] == "% of limit"
    narrow = text.text([shown(12.34)], width=48)
    assert "lack of width: % of limit, samples/s" in " ".join(narrow.split())


def test_more_than_the_limit_is_shown_and_explained() -> None:
    one = content.table([shown(123.0)])
    assert "123" in one.rows[0]
    assert any(remark.startswith("% of limit: above 100") for remark in one.remarks)
    assert not any("more than 100" in remark for remark in content.table([shown(99.0)]).remarks)


def test_what_explains_the_column_stands_only_where_the_column_does() -> None:
    def explained(table: content.Table) -> bool:
        return any(remark.startswith("% of limit:") for remark in table.remarks)

    over = shown(120.0, data="mnist", data_source="synthetic")
    assert explained(content.table([over]))
    assert explained(content.table([over], shown=columns.named(["backend", "% of limit"])))
    assert not explained(content.table([over], shown=columns.named(["backend"])))


def test_it_stands_behind_the_operations_in_summary_csv() -> None:
    names = columns.names()
    place = names.index("allocator_peak_mib")
    assert names[place + 1 : place + 4] == ["operations_per_sample", "percent_of_limit", "teardown_seconds"]
