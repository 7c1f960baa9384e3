"""Why a script's rows differ: sentences from what its cells reported, and from the runs of --explain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fake_runs import PROVENANCE, cell, plan, replace, write_events

from kbench import store
from kbench.features.explain import layer_costs, sentences
from kbench.features.explain import sentences as of_rows
from kbench.features.parity import agreement
from kbench.features.parity.values import Agreement
from kbench.outputs.told import ToldRun
from kbench.planning.request import OTHER_JIT, SAME_BATCH
from kbench.records.values import OK, SCRIPT, Outcome

LOOP = "reader (LSTM) computes one time step after another: the fused kernel cannot compute unroll=True"
STEPS = 10
FIT = "fit, line 9"
ROW = f"train.py: {FIT} on"

Told = dict[str, tuple[float | list[float], dict[str, Any]]]  # backend -> seconds per step, facts of the only fit
REST = (layer_costs.BETWEEN, layer_costs.OPTIMIZER, layer_costs.LOOP, layer_costs.INPUT)
FED = {"feeds": "generator"}


def causes(run: ToldRun) -> list[str]:
    return sentences.sentences(run, *sentences.inside(run))


def write(parent: Path, name: str, told: Told, disturbed: tuple[int, ...] = ()) -> Path:
    cells = {backend: cell("train.py", backend) for backend in told}
    run = store.create(parent, plan(cells.values(), task=SCRIPT), PROVENANCE, name)
    for backend, (seconds, facts) in told.items():
        site = {"event": "site", "site": FIT, "task": "train", "facts": {"layers": [["LSTM", {}, []]], **facts}}
        epochs = [
            {"event": "epoch", "epoch": number, "site": FIT, "seconds": STEPS * step, "samples": 100}
            | {"first": int(number == 1), "step_seconds": [step] * STEPS, "rounds": [[number, 0, STEPS]]}
            for number, step in enumerate(seconds if isinstance(seconds, list) else [seconds] * 3, 1)
        ]
        program = {"event": "program", "seconds": 9.0, "exit_status": 0, "keras": 1, "broken": ""}
        write_events(run, cells[backend], [site, *epochs, program, {"event": "end", "seconds": 9.0}])
        store.write_outcome(run, cells[backend], Outcome(OK, disturbed_rounds=disturbed))
    return run


def explained(folder: Path, told: Told, disturbed: tuple[int, ...] = (), **parts: Told) -> list[str]:
    run = write(folder, "run", told, disturbed)
    for name, changed in parts.items():
        write(run / store.EXPLAIN, name.replace("_", "-"), changed)
    return list(causes(ToldRun(store.read(run))))


def test_a_fallback_is_told_where_a_row_is_slower_than_another_or_alone(tmp_path: Path) -> None:
    slow, fast = (0.02, {"fallbacks": [LOOP]}), (0.01, {"fallbacks": [LOOP]})
    both = explained(tmp_path / "both", {"keras3/jax": slow, "keras3/torch": fast})
    assert both == [f"{ROW} keras3/torch, {ROW} keras3/jax: {LOOP}."], "both have it"
    one = explained(tmp_path / "one", {"keras3/jax": slow, "keras3/torch": (0.01, {})})
    assert one == [f"{ROW} keras3/jax: {LOOP}."]
    assert explained(tmp_path / "alone", {"keras3/torch": fast}) == [f"{ROW} keras3/torch: {LOOP}."]
    assert explained(tmp_path / "none", {"keras3/jax": (0.02, {"fallbacks": []}), "keras3/torch": (0.01, {})}) == []


def test_copies_to_the_device_are_told_if_they_are_much_of_a_slow_step(tmp_path: Path) -> None:
    told: Told = {"keras3/jax": (0.02, {}), "keras3/torch": (0.02, {}), "keras3/tensorflow": (0.01, {})}
    same: Told = {
        "keras3/jax": (0.02, {"transfer_seconds": 0.008}),
        "keras3/torch": (0.02, {"transfer_seconds": 0.002}),
        "keras3/tensorflow": (0.01, {"transfer_seconds": 0.008}),
    }
    assert explained(tmp_path, told, same_batch=same) == [
        f"{ROW} keras3/jax: copying a batch to the device and a number back takes 8.00 ms, 40% of a step."
    ]


def test_what_run_eagerly_costs_is_told(tmp_path: Path) -> None:
    told: Told = {"keras3/jax": (0.04, {"run_eagerly": True}), "keras3/torch": (0.04, {})}
    other: Told = {"keras3/jax": (0.01, {"jit_compile": False}), "keras3/torch": (0.02, {"jit_compile": True})}
    assert {SAME_BATCH, OTHER_JIT} == {"same-batch", "other-jit"}
    assert explained(tmp_path, told, other_jit=other) == [
        f"{ROW} keras3/jax: without run_eagerly a step takes 10.0 ms instead of 40.0 ms.",
        f"{ROW} keras3/torch: with jit_compile a step takes 20.0 ms instead of 40.0 ms, and the first epoch 0.200 s "
        "instead of 0.400 s.",
    ]


def test_where_nothing_is_found_that_is_told(tmp_path: Path) -> None:
    told: Told = {"keras3/jax": (0.02, {**FED, "transfer_seconds": 0.001})}
    (said,) = explained(tmp_path / "all", told, same_batch=told, other_jit=told)
    assert said == "None of the usual causes was found (input data, copies to the device, jit_compile)."


def test_only_what_was_tested_is_said_not_to_be_a_cause(tmp_path: Path) -> None:
    told: Told = {"keras3/jax": (0.02, {})}
    (said,) = explained(tmp_path, told, same_batch=told, other_jit=told)
    assert said == "None of the usual causes was found (jit_compile)."


def test_data_are_a_cause_only_where_the_interval_of_the_change_excludes_none(tmp_path: Path) -> None:
    even: Told = {"keras3/jax": ([0.03, 0.02, 0.0201, 0.0199, 0.02], FED)}
    uneven: Told = {"keras3/jax": ([0.03, 0.035, 0.01, 0.02, 0.03], FED)}
    same: Told = {"keras3/jax": ([0.03, 0.012, 0.0121, 0.0119], FED)}
    assert explained(tmp_path / "even", even, same_batch=same) == [
        f"{ROW} keras3/jax: 40% of a step is spent on its data (31% to 48%): it takes 20.0 ms, and 12.0 ms with the "
        "same batch every time."
    ]
    (said,) = explained(tmp_path / "uneven", uneven, same_batch=same)
    assert said == "None of the usual causes was found (input data)."


def test_arrays_in_memory_are_fed_alike_in_both_runs_and_are_no_cause(tmp_path: Path) -> None:
    told: Told = {"keras3/jax": ([0.03, 0.02, 0.02], {"samples": 100})}
    assert explained(tmp_path, told, same_batch={"keras3/jax": (0.01, {})}) == []


def test_no_cause_is_taken_from_disturbed_turns_or_steps_that_are_not_steady(tmp_path: Path) -> None:
    told: Told = {"keras3/jax": (0.02, FED)}
    same: Told = {"keras3/jax": (0.01, FED)}
    unsure = f"Not explained (too few steps, not steady, or disturbed): {ROW} keras3/jax."
    assert explained(tmp_path / "busy", told, disturbed=(2, 3), same_batch=same) == [unsure]
    slower = [
        0.03,
        *[0.02 + 0.0001 * number for number in range(6)],
        *[0.04 + 0.0001 * number for number in range(6)],
    ]
    assert explained(tmp_path / "later", {"keras3/jax": (slower, FED)}, same_batch=same) == [unsure]


def test_a_program_that_does_not_fit_says_what_was_not_looked_at(tmp_path: Path) -> None:
    the_cell = cell("use.py", "keras3/jax")
    run = store.create(tmp_path, plan([the_cell], task=SCRIPT), PROVENANCE, "run")
    site = {"event": "site", "site": "predict, line 4", "task": "infer", "facts": {"layers": []}}
    calls = [
        {"event": "epoch", "epoch": number, "site": site["site"], "seconds": 0.1, "samples": 1, "calls": 1}
        for number in (1, 2, 3)
    ]
    program = {"event": "program", "seconds": 9.0, "exit_status": 0, "keras": 1, "broken": ""}
    write_events(run, the_cell, [site, *calls, program, {"event": "end", "seconds": 9.0}])
    store.write_outcome(run, the_cell, Outcome(OK))
    results = store.read(run)
    assert causes(ToldRun(results)) == [], "it was not asked for"
    (run / store.EXPLAIN).mkdir()
    assert causes(ToldRun(results)) == [
        "Not checked, because the program does not call fit: input data, copies to the device, jit_compile, "
        "recompilation."
    ]


def test_what_layers_and_lines_have_in_common_is_one_sentence(tmp_path: Path) -> None:
    loops = [f"lstm_{number} (LSTM) loops" for number in range(4)]
    told: Told = {"keras3/torch": (0.02, {"fallbacks": [*loops, "run_eagerly is slow", "gru (GRU) loops"]})}
    assert explained(tmp_path, told) == [
        f"{ROW} keras3/torch: each of lstm_0, lstm_1, lstm_2, ... (LSTM) loops.",
        f"{ROW} keras3/torch: run_eagerly is slow.",
        f"{ROW} keras3/torch: gru (GRU) loops.",
    ]


def inside(layer: float) -> dict[str, Any]:
    """What a cell found that was looked into: seconds of parts, which vary a little."""
    parts = {"layer": layer, "whole": layer + 0.001, "optimizer": 0.001, "nothing": 0.0, "fit": layer + 0.003}
    return {
        "event": "inside",
        "site": FIT,
        "missing": [],
        "parts": [
            {
                "kind": kind,
                "name": "norm",
                "class": "Norm",
                "seconds": [seconds * (1 + n / 1000) for n in range(-3, 4)],
            }
            for kind, seconds in parts.items()
        ],
    }


def looked_into(
    folder: Path, told: Told, layers: dict[str, float], disturbed: tuple[int, ...] = ()
) -> store.RunResults:
    run = write(folder, "run", told)
    cells = {backend: cell("train.py", backend, epochs=0) for backend in layers}
    part = store.create(run / store.EXPLAIN, plan(cells.values(), task=SCRIPT), PROVENANCE, "inside")
    for backend, seconds in layers.items():
        program = {"event": "program", "seconds": 9.0, "exit_status": 0, "keras": 1, "broken": ""}
        found = {**inside(seconds), "turns": [[number, 0] for number in range(1, 8)]}
        write_events(part, cells[backend], [found, program, {"event": "end", "seconds": 9.0}])
        store.write_outcome(part, cells[backend], Outcome(OK, disturbed_rounds=disturbed))
    return store.read(run)


def test_the_layer_that_makes_a_backend_slower_is_named(tmp_path: Path) -> None:
    told: Told = {"keras3/jax": (0.01, {}), "keras3/torch": (0.03, {})}
    run = looked_into(tmp_path, told, {"keras3/jax": 0.005, "keras3/torch": 0.025})
    analysis = ToldRun(run)
    (said,) = causes(analysis)
    assert said.startswith(
        f"{ROW} keras3/torch: a step takes 20.0 ms longer than on keras3/jax: norm (Norm) +20.0 ms ("
    ) and said.endswith(").")
    (table,) = analysis.tables
    assert table.columns == ("part", "keras3/jax", "keras3/torch")
    assert [row[0] for row in table.rows] == ["norm (Norm)", *REST, "whole step"]
    assert table.rows[0][1:] == ("5.00", "25.0") and table.rows[-1][1:] == ("10.0", "30.0")


def test_equal_rows_have_a_table_and_no_sentence(tmp_path: Path) -> None:
    told: Told = {"keras3/jax": (0.01, {}), "keras3/torch": (0.0101, {})}
    run = looked_into(tmp_path, told, {"keras3/jax": 0.005, "keras3/torch": 0.005})
    assert causes(ToldRun(run)) == []


def test_a_step_of_another_batch_size_makes_none_slow(tmp_path: Path) -> None:
    told: Told = {name: ([0.3, 0.01], {"fallbacks": [LOOP]}) for name in ("keras3/jax", "keras3/torch")}
    analysis = ToldRun(store.read(write(tmp_path, "run", told)))
    (first, *_) = rows = analysis.rows
    vars(analysis)["rows"] = [*rows, replace(first, axes={"batch_size": 1}, epoch_seconds=0.01)]
    assert causes(analysis) == []


def test_no_layer_is_named_where_times_could_not_be_compared(tmp_path: Path) -> None:
    for seconds in (0.02, 0.05):
        told: Told = {"keras3/jax": ([0.3, 0.01], {}), "keras3/torch": ([0.3, seconds], {})}  # an epoch is too few
        run = looked_into(tmp_path / str(seconds), told, {"keras3/jax": 0.005, "keras3/torch": seconds - 0.005})
        said = causes(ToldRun(run))
        assert said == [f"No layer is named where times could not be compared: {ROW} keras3/torch."]


def test_parts_timed_while_other_programs_ran_explain_nothing(tmp_path: Path) -> None:
    told: Told = {"keras3/jax": (0.01, {}), "keras3/torch": (0.03, {})}
    layers = {"keras3/jax": 0.005, "keras3/torch": 0.025}
    few = looked_into(tmp_path / "few", told, layers, disturbed=(3,))
    (said,) = causes(ToldRun(few))
    assert "norm (Norm) +20.0 ms (" in said, "six of seven rounds are left"
    most = looked_into(tmp_path / "most", told, layers, disturbed=(3, 4, 5))
    assert causes(ToldRun(most)) == [
        "Not timed on keras3/jax, keras3/torch: other programs used the processor while its layers were timed."
    ]


def test_a_step_that_was_slower_while_its_parts_were_timed_is_not_explained(tmp_path: Path) -> None:
    told: Told = {"keras3/jax": (0.01, {}), "keras3/torch": (0.03, {})}
    run = looked_into(tmp_path, told, {"keras3/jax": 0.005, "keras3/torch": 0.090})
    assert causes(ToldRun(run)) == [
        f"{ROW} keras3/torch: could not be explained, because a step on keras3/torch took 93.0 ms while its parts "
        "were timed, and 30.0 ms before."
    ]


def test_a_known_cause_is_told_of_its_own_backend_alone() -> None:
    cause = "as it ships, Adam begins with step 2"

    def row(backend: str, note: str, *others: str) -> Agreement:
        explained = agreement.EXPLAINED, "", "", {}, None, (note,), frozenset(others)
        return Agreement("train.py", backend, "channels_last", "cpu", *explained)

    first = "keras2/tensorflow"
    told = of_rows.same([row(first, cause), row("keras2/theano", f"{first}: {cause}", first)], "see")
    assert told == [
        f"train.py on keras2/tensorflow differs for known reasons: {cause}.",
        "`see` shows where backends differ.",
    ]
