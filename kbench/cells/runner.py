"""Runs tasks: launches cells, one after the other or in turns, reads their reports, records the outcomes."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kbench import hooks, store
from kbench.cells import advice
from kbench.cells import launcher as launchers
from kbench.cells import spec as specs
from kbench.cells.launcher import Launcher, Running, run_to_completion
from kbench.cells.outcomes import outcome_of
from kbench.cells.spec import RunPaths
from kbench.cells.together import Beside, Streams
from kbench.cells.turns import Look, ProcessTurn, TurnScheduler, look, share_of_others
from kbench.environments import ensure
from kbench.machine import devices
from kbench.planning.tasks import CellTask
from kbench.records import axes
from kbench.records.axes import Point
from kbench.records.values import FAILED, INTERRUPTED, OK, UNAVAILABLE, UNSUPPORTED, Outcome
from kbench.store.events import LONGEST_LINE
from kbench.store.files import MOST_BYTES
from kbench.store.guest_files import open_regular
from kbench.words.text import plain


@dataclass(frozen=True)
class EpochProgress:
    """The progress of a running cell: its finished epochs, and the values of the last one.

    site: the line of a program; then its epochs or calls are counted. Features count events of their own.
    """

    epochs: int = 0
    seconds: float | None = None
    loss: float | None = None
    accuracy: float | None = None  # of validation if there is one
    site: str = ""


@dataclass(frozen=True)
class Listener:
    """Callbacks for the progress of a run."""

    started: Callable[[CellTask], None]
    epoch: Callable[[CellTask, EpochProgress], None]  # a few times a second
    ended: Callable[[CellTask, Outcome], None]
    note: Callable[[str], None] = lambda line: None  # other information


def run(
    tasks: Sequence[CellTask],
    impossible: Mapping[str, Outcome],
    run_paths: RunPaths,
    launcher: Launcher,
    listener: Listener,
    interleave: bool = False,
    at_once: int = 1,
    before: Callable[[CellTask], None] = lambda task: None,
    further: Callable[[Sequence[CellTask]], Sequence[CellTask]] = lambda tasks: (),
) -> list[Outcome]:
    """Run the tasks and record each outcome in the run's folder as soon as it is known.

    They run one after the other, or with `interleave` those that are ranked together side by side, in turns; not on a
    GPU, because frameworks take all its memory. Where nothing is timed, up to `at_once` run at the same time.
    `impossible`: the outcomes of cells that cannot run, by id. `before`
    is called with the first task of each measurement, and `further` with all of them when it is over: what it returns
    is measured next. No failed cell stops the run. On an interrupt the running cells
    are recorded as interrupted, and KeyboardInterrupt is raised again. Raises UserError if results cannot be written,
    or if the run's folder is gone.
    """
    known = {
        task.id: verdict for task in tasks if (verdict := impossible.get(task.id) or _unavailable(task, run_paths))
    }
    measuring = _Measuring(run_paths, launcher, listener, known, at_once)
    try:
        for together in _groups(tasks, interleave, at_once):
            before(together[0])
            measuring.together(together)
            if more := further(together):
                measuring.folder = store.WatchedFolder(run_paths.run)  # whose run.json has these now
                measuring.together(more)
    except KeyboardInterrupt:
        for task in list(measuring.running.values()):
            measuring.ended(task, measuring.judged(task, Outcome(INTERRUPTED, "interrupted by the user")))
        raise
    return [measuring.outcomes[task.id] for task in tasks]


class _Measuring:
    """The cells of a run, as they are measured and recorded."""

    def __init__(
        self, run_paths: RunPaths, launcher: Launcher, listener: Listener, known: dict[str, Outcome], at_once: int
    ) -> None:
        self._here, self._launcher, self._listener = run_paths, launcher, listener
        self._at_once = at_once
        self._known = known  # by id: of cells that need not start
        self.outcomes: dict[str, Outcome] = {}
        self.running: dict[str, CellTask] = {}
        self._began: dict[str, tuple[Look, ProcessTurn | None]] = {}  # by id
        self.folder = store.WatchedFolder(run_paths.run)
        # The batch size that did not fit into memory, by the rest of the row's point.
        self._largest: dict[Point, int] = {}

    def together(self, tasks: Sequence[CellTask]) -> None:
        """Measure these cells: if there are several at the same time where that may be, or else in turns."""
        for task in tasks:
            if too_large := _too_large(task, self._largest):
                self._known.setdefault(task.id, too_large)
            if task.id in self._known:
                self._started(task)
                self.ended(task, self._known[task.id])
        unknown = [task for task in tasks if task.id not in self._known]
        if len(unknown) == 1:
            self.ended(unknown[0], run_to_completion(self._cell(unknown[0])))
        elif self._at_once > 1:
            _at_once(unknown, self._at_once, self._cell, self.ended)
        elif unknown:
            _in_turns(unknown, self._cell, self.ended, self._listener.note)

    def _started(self, task: CellTask) -> None:
        self.running[task.id] = task
        self._listener.started(task)

    def ended(self, task: CellTask, outcome: Outcome) -> None:
        """Record an outcome at once, so that a later failure does not lose it."""
        try:
            self.folder.check()
            store.write_outcome(self._here.run, task, outcome)
        except KeyboardInterrupt:
            store.write_outcome(self._here.run, task, outcome)
            raise
        finally:
            self.running.pop(task.id, None)
        self.outcomes[task.id] = outcome
        # Several machines that measure the same cells would not all leave out the same ones.
        if outcome.out_of_memory and axes.BATCH_SIZE in task.varied and self._here.place is None:
            self._largest.setdefault(task.key.without([axes.BATCH_SIZE]), task.batch_size)
        self._listener.ended(task, outcome)

    def _cell(self, task: CellTask, turn: ProcessTurn | None = None) -> Running[Outcome]:
        self.folder.check()
        self._started(task)
        self._began[task.id] = look([os.getpid()]), turn  # with all that it starts
        return self.judged(task, (yield from measure(task, self._here, self._launcher, self._listener, turn)))

    def judged(self, task: CellTask, outcome: Outcome) -> Outcome:
        """The outcome with what other programs used meanwhile; also of a cell that was stopped."""
        if task.id not in self._began:
            return outcome
        before, turn = self._began[task.id]
        outcome = replace(outcome, others=round(others := share_of_others(before, look([os.getpid()])), 3))
        if turn is None:
            return outcome
        if not turn.held:  # it ended within a turn, of which no more is known
            turn.judge(others)
        return replace(outcome, disturbed_rounds=tuple(turn.disturbed), disturbed_again=tuple(turn.disturbed_again))


def _too_large(task: CellTask, largest: Mapping[Point, int]) -> Outcome | None:
    """The outcome of a task whose batch is larger than one that did not fit into memory."""
    failed = largest.get(task.key.without([axes.BATCH_SIZE]))
    if failed is None or task.batch_size <= failed:
        return None
    return Outcome(UNSUPPORTED, f"not measured: a batch of {failed:,} does not fit into memory")


def _groups(tasks: Sequence[CellTask], interleave: bool, at_once: int) -> Iterable[list[CellTask]]:
    """The tasks that run side by side."""
    if at_once > 1:
        return [list(tasks)]
    return _of_places(tasks) if interleave else ([task] for task in tasks)


def _of_places(tasks: Sequence[CellTask]) -> list[list[CellTask]]:
    """The tasks that take turns: those that are ranked against each other, and of other workers, of a repeat."""
    groups: dict[tuple[Point, int, bool], list[CellTask]] = {}
    for task in tasks:
        groups.setdefault((task.key.side_by_side, task.repeat, bool(task.timing)), []).append(task)
    alone = ([task] for group in groups.values() for task in group if task.device != "cpu")
    return [*(group for group in groups.values() if group[0].device == "cpu"), *alone]


def _at_once(
    tasks: Sequence[CellTask],
    most: int,
    cell: Callable[[CellTask], Running[Outcome]],
    ended: Callable[[CellTask, Outcome], None],
) -> None:
    """Run these cells, up to `most` at the same time."""
    waiting = list(tasks)
    running: dict[str, tuple[CellTask, Running[Outcome]]] = {}
    with contextlib.ExitStack() as stack:
        while waiting or running:
            while waiting and len(running) < most:
                task = waiting.pop(0)
                running[task.id] = (task, stack.enter_context(contextlib.closing(cell(task))))
            for task, one in list(running.values()):
                try:
                    next(one)
                except StopIteration as end:
                    del running[task.id]
                    ended(task, end.value)
            if running:
                time.sleep(launchers.POLL_SECONDS)


def _in_turns(
    tasks: Sequence[CellTask],
    cell: Callable[[CellTask, ProcessTurn], Running[Outcome]],
    ended: Callable[[CellTask, Outcome], None],
    note: Callable[[str], None],
) -> None:
    """Run these cells side by side, one computing at a time; but they start several at once.

    The first steps of examples follow one at a time, since their time is reported; a script has its own at its start,
    and so starts while all others are held. First steps of short processes are not reported.
    """
    waiting = list(tasks)
    running: dict[ProcessTurn, tuple[CellTask, Running[Outcome]]] = {}
    at_once = 1 if any(task.script is not None for task in tasks) else len(os.sched_getaffinity(0))
    noted = False
    with contextlib.closing(TurnScheduler(tasks[0].id)) as turns, contextlib.ExitStack() as stack:
        while waiting or running:
            while waiting and turns.starting < at_once and (turns.all_held or turns.starting):
                # Not two of one backend: the second would wait for what the first has locked.
                starting = {task.backend for turn, (task, _) in running.items() if not turn.was_held}
                task = next((task for task in waiting if task.backend not in starting), None)
                if task is None:
                    break
                if not turns.room():
                    if not noted:
                        note(f"{tasks[0].example}: memory for {len(running)} of {len(tasks)} cells side by side")
                    noted = True
                    break
                waiting.remove(task)
                turn = turns.join(stepping=task.script is not None or task.timing > 0)
                running[turn] = (task, stack.enter_context(contextlib.closing(cell(task, turn))))
                _look(turn, running, turns, ended)
            if running and turns.all_held:
                turns.next()
            for turn in [turn for turn in running if not turn.held]:
                _look(turn, running, turns, ended)
            for gone in turns.wait(launchers.POLL_SECONDS) if running else ():
                task, one = running.pop(gone)
                turns.leave(gone)
                ended(task, run_to_completion(one))


def _look(
    turn: ProcessTurn,
    running: dict[ProcessTurn, tuple[CellTask, Running[Outcome]]],
    turns: TurnScheduler,
    ended: Callable[[CellTask, Outcome], None],
) -> None:
    """See whether the cell is still running."""
    task, one = running[turn]
    try:
        next(one)
    except StopIteration as end:
        del running[turn]
        turns.leave(turn)
        ended(task, end.value)


def _unavailable(task: CellTask, run_paths: RunPaths) -> Outcome | None:
    environment = run_paths.environments.get(task.environment, "its environment was not made")
    return Outcome(UNAVAILABLE, environment) if isinstance(environment, str) else None


def measure(
    task: CellTask, run_paths: RunPaths, launcher: Launcher, listener: Listener, turn: ProcessTurn | None = None
) -> Running[Outcome]:
    """Measure a task on this machine, in its backend's environment; returns the outcome."""
    environment, device = run_paths.environments[task.environment], run_paths.devices[task.device]
    assert not isinstance(environment, str)
    engine = hooks.engine(task)
    numbers = engine.numbers(task, run_paths)
    of_each = [store.cell_folder(run_paths.run, task, number) for number in numbers]
    files = of_each[0]
    with contextlib.ExitStack() as stack:
        try:
            of_program = task.script is not None
            work = stack.enter_context(hooks.programs().work(task, run_paths, files)) if of_program else None
        except (OSError, shutil.Error) as error:
            return Outcome(FAILED, f"the script's folder cannot be copied: {_first(error)}")
        addresses = engine.addresses(task, run_paths)
        paths = [
            store.write_spec(
                run_paths.run,
                task,
                specs.spec(task, run_paths, work, number, addresses),
                specs.keras_json(task),
                number,
            )
            for number in numbers
        ]
        compiled = run_paths.compiled / task.row_id if run_paths.compiled and not work else None
        cached = compiled is not None and compiled.is_dir() and any(compiled.iterdir())
        in_each = engine.workers_in_each(task)
        of_backend = ensure.variables(environment, task.threads, task.example, str(compiled or ""), in_each)
        of_task = {"PYTHONHASHSEED": str(task.seed), **work.variables} if work else {}
        variables = [
            specs.environment_variables(
                os.environ,
                {**run_paths.passed, **of_backend, **of_task},
                devices.pin_variables(*engine.devices(task, run_paths, number)),
                files.keras_home,
                of_program=work is not None,
            )
            for number in numbers
        ]
        progress = EpochReader(files.events)

        def watch() -> bool:
            """Whether it has told its last event. A program may do more after what is measured of it."""
            listener.epoch(task, progress.sample())
            return progress.ended and task.script is None

        more: dict[str, Any] = {"streams": Streams(store.stdin(run_paths.run), files.stdout)} if work else {}
        commands = [[str(environment.python), str(run_paths.guest), str(path)] for path in paths]
        if others := of_each[1:]:
            more["beside"] = [
                Beside(commands[number], variables[number], one.log, _has_told_end(EpochReader(one.events)))
                for number, one in enumerate(others, 1)
            ]
        try:
            ended = yield from launcher(
                commands[0],
                variables=variables[0],
                folder=work.folder if work else files.path,
                log=files.log,
                timeout=task.timeout,
                memory_limit_mib=task.memory_limit_mib,
                watch=watch,
                turn=turn,
                gpu=device.index,
                **more,
            )
        except OSError as error:
            return Outcome(FAILED, f"its Python cannot be started: {error.strerror or error}")
        known = progress.done
        if progress.sample() != known:  # what it told last
            listener.epoch(task, progress.done)
        try:
            reports = [store.read_events(one.events) for one in of_each]
        except OSError as error:
            reason = f"its events cannot be read: {error.strerror or error}"
            return Outcome(FAILED, reason, ended.seconds, ended.code, ended.peak_memory_mib)
        report = reports[0]
        outcome = outcome_of(ended, report, task, files.log)
        if outcome.status != OK:
            outcome = engine.outcome(outcome, ended, reports, task, of_each, numbers[0])
        outcome = replace(outcome, compilation_cached=cached)
        if outcome.status == FAILED and report.facts.error:
            outcome = replace(outcome, reason=outcome.reason + advice.on_error(task, run_paths, outcome))
        if outcome.status == FAILED and report.facts.error_in_keras and run_paths.pairs.get(task.backend):
            outcome = replace(outcome, reason=f"{outcome.reason}; {run_paths.pairs[task.backend]}")
        # Half of what is compiled would pass for all of it; but other processes may be trying cases with it.
        if compiled and outcome.status != OK and task.has_model:
            shutil.rmtree(compiled, ignore_errors=True)
        return outcome


def _has_told_end(reader: EpochReader) -> Callable[[], bool]:
    """Whether that process has told its last event."""

    def told() -> bool:
        reader.sample()
        return reader.ended

    return told


def _first(error: OSError) -> str:
    """The first of the errors of shutil, and of which file."""
    if isinstance(error, shutil.Error):
        (source, _, why), *_ = error.args[0]
        return plain(f"{source}: {str(why).partition('] ')[2].partition(': ')[0] or why}")[:200]
    return plain(f"{error.filename}: {error.strerror}" if error.filename else str(error))[:200]


class EpochReader:
    """Reads the epochs from an events file, only those added since the last call."""

    def __init__(self, path: Path) -> None:
        self.ended = False  # the guest has told its last event
        self._path = path
        self._position = 0
        self._done: dict[str, int] = {}  # epochs or calls of each line
        self.done = EpochProgress()  # when it was last asked

    def sample(self) -> EpochProgress:
        """The epochs that are done."""
        try:
            with open_regular(self._path) as file:
                file.seek(self._position)
                added = file.read(LONGEST_LINE if self._position < MOST_BYTES else 0)
        except OSError:
            return self.done
        # A line may be half written, or have no end.
        whole = added[: added.rfind(b"\n") + 1] if len(added) < LONGEST_LINE or b"\n" in added else added
        self._position += len(whole)
        self.ended = self.ended or b'"event": "end"' in whole
        if counted := sum(map(whole.count, hooks.counted_events())):  # in place of epochs
            self.done = EpochProgress(self.done.epochs + counted)
        lines = [line for line in whole.splitlines() if b'"event": "epoch"' in line]
        if lines:
            self.done = EpochProgress(self.done.epochs + len(lines))
            for line in lines:
                for last in store.parse_events(line).epochs:
                    site = last.site or ""
                    done = self._done[site] = self._done.get(site, 0) + (last.calls or 1)
                    accuracy = last.accuracy if last.val_accuracy is None else last.val_accuracy
                    self.done = EpochProgress(done, last.seconds, last.loss, accuracy, site)
        return self.done
