"""What a cell can do to itself, and what is promised: its status and reason, that the next cell is measured all the
same, and that no process stays behind.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fake_runs import cell
from staged_runs import staged, staged_task

from kbench import store
from kbench.cells import launcher, orphans, runner
from kbench.cells.runner import EpochProgress, Listener
from kbench.outputs import one_run
from kbench.outputs.told import ToldRun
from kbench.planning.tasks import CellTask
from kbench.records.values import Measured
from kbench.store import guest_files

GUEST = Path(__file__).with_name("stub_guest.py")
FOREVER = "__import__('signal').pause()"
KILL = "import signal; os.kill(os.getpid(), signal.%s)"
DAEMON = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(folder + "/daemon", "w").close()
        __import__("signal").pause()
    os._exit(0)
while not os.path.exists(folder + "/daemon"):
    pass
"""
SWELLS = "held = bytearray(300 << 20); held[::4096] = b'1' * len(held[::4096]); " + FOREVER


@dataclass(frozen=True)
class Fault:
    """Python that the guest runs after its first epoch of three, and what is to come of the cell."""

    does: str
    status: str
    reason: str = ""  # a regular expression for all of it
    settings: dict[str, Any] = field(default_factory=dict)


READY = "tell('note', text='ready')"  # from here on the time limit of a fault with SOON is over
SOON = {"timeout": 900.0}
TIMEOUT = r"not done after 900 s \(1 of 3 epochs were done\); give it longer with --timeout"
AFTER_1 = r" \(last event: epoch 1\)"
DAMAGED = r"ended without a result \(last event: end; 1 damaged lines among its events\)"
UNREADABLE = "its events cannot be read: "

FAULTS = {
    # It dies.
    "segmentation fault": Fault("import ctypes; ctypes.string_at(0)", "failed", f"killed by SIGSEGV{AFTER_1}"),
    "abort": Fault(
        "print('double free', flush=True); os.abort()", "failed", f"killed by SIGABRT{AFTER_1}: double free"
    ),
    "illegal instruction": Fault(KILL % "SIGILL", "failed", f"killed by SIGILL{AFTER_1}"),
    "killed": Fault(KILL % "SIGKILL", "failed", f"killed by SIGKILL{AFTER_1}"),
    "too much time of the processor": Fault(
        "import resource; resource.setrlimit(resource.RLIMIT_CPU, (0, 0))\nwhile True: pass",
        "failed",
        f"killed by SIG(KILL|XCPU){AFTER_1}",
    ),
    "terminated": Fault(KILL % "SIGTERM", "failed", f"killed by SIGTERM{AFTER_1}"),
    "exit 0 without an outcome": Fault("os._exit(0)", "failed", f"ended without a result{AFTER_1}"),
    "exit 3": Fault("os._exit(3)", "failed", rf"ended with exit status 3{AFTER_1}"),
    "becomes another program": Fault("os.execvp('true', ['true'])", "failed", f"ended without a result{AFTER_1}"),
    "an exception": Fault("raise OSError(28, 'No space left')", "failed", r"ended .* 1 .*: OSError: .*No space left"),
    "an error of a megabyte": Fault(
        "tell('error', kind='exception', message='\\x1b[31m' + 'x' * 10**6); os._exit(1)", "failed", "x{500}"
    ),
    # It does not end.
    "endless loop": Fault(f"{READY}\nwhile True: pass", "timeout", TIMEOUT, SOON),
    "stopped": Fault(f"{READY}\n{KILL % 'SIGSTOP'}", "timeout", TIMEOUT, SOON),
    "deaf to SIGTERM": Fault(
        f"import signal; signal.signal(15, signal.SIG_IGN); {READY}; {FOREVER}", "timeout", TIMEOUT, SOON
    ),
    "waits for input": Fault("assert sys.stdin.read() == ''", "ok"),
    # It leaves processes behind.
    "twenty children that sleep": Fault(f"for _ in range(20):\n    if os.fork() == 0: {FOREVER}", "ok"),
    "a daemon in a session of its own": Fault(DAEMON, "ok"),
    "a daemon, and dies": Fault(f"{DAEMON}\nos._exit(3)", "failed", f"ended with exit status 3{AFTER_1}"),
    "a daemon, and hangs": Fault(f"{DAEMON}\n{READY}; {FOREVER}", "timeout", TIMEOUT, SOON),
    "a child that goes on telling": Fault(
        "if os.fork() == 0:\n    while True: tell('note', text='still here')", "ok"
    ),
    # It takes too much.
    "memory beyond the limit": Fault(
        SWELLS,
        "failed",
        r"stopped: it used \d{3} MiB, more than --memory-limit \(200 MiB\)",
        {"memory_limit_mib": 200.0},
    ),
    "memory of its children": Fault(
        f"for _ in range(3):\n    if os.fork() == 0: {SWELLS.replace('300', '90')}\n{FOREVER}",
        "failed",
        r"stopped: it used .*",
        {"memory_limit_mib": 200.0},
    ),
    "100 MB of output": Fault("for _ in range(100): os.write(1, b'shout! ' * 142858)", "ok"),
    "binary garbage as output": Fault(
        "os.write(1, bytes(range(256)) * 99 + b'\\n\\xff\\x00\\x1b[2Jend\\n'); os._exit(4)",
        "failed",
        rf"ended with exit status 4{AFTER_1}: \ufffd end",
    ),
    "closes its input and output": Fault("for number in (0, 1, 2): os.close(number)", "ok"),
    # Its files.
    "no room for its events": Fault(
        "import resource; size = os.path.getsize(events) + 9; resource.setrlimit(resource.RLIMIT_FSIZE, (size,) * 2)",
        "failed",
        r"ended with exit status 1 \(last event: epoch 1; 1 damaged lines among its events\).*",
    ),
    "events on a full device": Fault(
        "os.remove(events); os.symlink('/dev/full', events)", "failed", f"{UNREADABLE}it is not a regular file"
    ),
    "events deleted meanwhile": Fault(
        "os.remove(events)", "failed", r"ended without a result \(it reported nothing\)"
    ),
    "events become a folder": Fault(
        "os.remove(events); os.mkdir(events)", "failed", f"{UNREADABLE}(it is not a regular file|Is a directory)"
    ),
    "events become a pipe": Fault(
        "os.remove(events); os.mkfifo(events)", "failed", f"{UNREADABLE}it is not a regular file"
    ),
    "events become a link without end": Fault(
        "os.remove(events); os.symlink('/dev/zero', events)", "failed", f"{UNREADABLE}it is not a regular file"
    ),
    "log deleted meanwhile": Fault(
        "os.remove(folder + '/log.txt'); os._exit(3)", "failed", f"ended with exit status 3{AFTER_1}"
    ),
    "log becomes a pipe": Fault(
        "os.remove(folder + '/log.txt'); os.mkfifo(folder + '/log.txt'); os._exit(3)",
        "failed",
        f"ended with exit status 3{AFTER_1}",
    ),
    "events that seem to hold a terabyte": Fault(
        "os.truncate(events, 1 << 40)", "failed", f"{UNREADABLE}it is larger than 64 MiB"
    ),
    "a spec that seems to hold a terabyte": Fault("os.truncate(folder + '/spec.json', 1 << 40)", "ok"),
    "a spec that becomes a pipe": Fault("os.remove(folder + '/spec.json'); os.mkfifo(folder + '/spec.json')", "ok"),
    "run.json overwritten": Fault("open(folder + '/../../run.json', 'w').write('{}')", "ok"),
    "a folder in the place of run.json": Fault(
        "os.remove(folder + '/../../run.json'); os.makedirs(folder + '/../../run.json/x')", "ok"
    ),
    "run.json deleted": Fault("os.remove(folder + '/../../run.json')", "ok"),
    "its folder deleted": Fault(
        "__import__('shutil').rmtree(folder)", "failed", r"ended without a result \(it reported nothing\)"
    ),
    "its folder is a file": Fault(
        "__import__('shutil').rmtree(folder); open(folder, 'w').close()", "failed", f"{UNREADABLE}Not a directory"
    ),
    "its folder leads elsewhere": Fault(
        "os.rename(folder, folder + '-away'); os.symlink(folder + '-away', folder)",
        "interrupted",  # nothing is written where it leads
        r"its events\.jsonl is damaged: 0 of 3 epochs are left",
    ),
    "an outcome of its own": Fault(
        "open(folder + '/outcome.json', 'w').write('{\"status\": \"ok\"}'); os._exit(3)",
        "failed",
        f"ended with exit status 3{AFTER_1}",
    ),
    "a folder in the place of the outcome": Fault(
        "os.mkdir(folder + '/outcome.json'); os._exit(3)", "failed", f"ended with exit status 3{AFTER_1}"
    ),
    # What it tells.
    "malformed JSON": Fault('say(\'{"event": "epoch", "epoch": 2, \')', "ok"),
    "malformed JSON in the place of an epoch": Fault(
        'say(\'{"event": "epoch", "epo\'); spec[\'epochs\'] = 1', "failed", DAMAGED
    ),
    "a torn last line": Fault(
        'os.write(_file, b\'{"event": "ep\'); os.abort()',
        "failed",
        r"killed by SIGABRT \(last event: epoch 1; 1 damaged lines among its events\)",
    ),
    "a loss that is NaN": Fault("tell_epoch(1, loss=float('nan'))", "ok"),
    "a time that is NaN": Fault(
        "tell_epoch(2, seconds=float('nan')); tell_epoch(3); spec['epochs'] = 1", "failed", DAMAGED
    ),
    "a negative time": Fault("tell_epoch(2, seconds=-1.0); tell_epoch(3); spec['epochs'] = 1", "failed", DAMAGED),
    "a line of 10 MB": Fault("tell('note', text='x' * 10**7)", "ok"),
    "a line that is longer than allowed": Fault("tell('note', text='x' * (17 << 20))", "ok"),
    "notes without end": Fault("for _ in range(3000): tell('note', text='x' * 2000)", "ok"),
    "garbage without end": Fault("os.write(_file, b'x\\n' * (1 << 20))", "failed", "ended without a result .*"),
    "an error that is no text": Fault(
        r"tell('error', kind='exception', message='no file \udcff'); os._exit(1)", "failed", r"no file \\udcff"
    ),
    "an epoch told twice": Fault("tell_epoch(1, seconds=7.0)", "ok"),
    "an epoch too many": Fault("tell_epoch(4)", "failed", r"ended without a result \(last event: end\)"),
    "an event that nobody knows": Fault("tell('later', schema=99)", "ok"),
    "numbers without end": Fault("say('{\"event\": \"end\", \"seconds\": 1' + '0' * 5000 + '}')", "ok"),
    "brackets without end": Fault("say('[' * 100000)", "ok"),
    "a clock that was set back": Fault(
        "import time; time.time = lambda: -1.0; tell('note', text='', time=-1.0)", "ok"
    ),
}


class Clock:
    """The launcher's clock, which a test can set forward."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    @staticmethod
    def time() -> float:
        return time.time()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(launcher, "time", made)
    return made


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "POLL_SECONDS", 0.02)
    monkeypatch.setattr(launcher, "GRACE_SECONDS", 0.05)


def run(tmp_path: Path, fault: Fault, clock: Clock | None = None) -> tuple[Path, Measured, Measured]:
    """The run's folder, the cell with the fault, and the cell after it.

    What a fault with a time limit does is waited for, and then the time is over: nothing depends on how fast the
    machine is.
    """
    wanted = zip(("faulty", "after"), (fault.settings, {}), strict=True)
    tasks = [staged_task(cell(name, "keras9/tiny"), **settings) for name, settings in wanted]
    here = staged(tmp_path, GUEST, tasks, {"faulty": fault.does, "after": ""})

    def look(task: CellTask, done: EpochProgress) -> None:
        events = store.cell_folder(here.run, task).events
        if clock and task.example == "faulty" and events.exists() and b'"ready"' in events.read_bytes():
            clock.ahead = fault.settings["timeout"]

    listener = Listener(lambda task: None, look, lambda task, outcome: None)
    for task in tasks:
        runner.run([task], {}, here, launcher.launch, listener)
    faulty, after = store.read(here.run).measured
    return here.run, faulty, after


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_cell_ends_alone_and_says_how(tmp_path: Path, fault: Fault, clock: Clock) -> None:
    folder, faulty, after = run(tmp_path, fault, clock if fault.settings == SOON else None)
    assert faulty.outcome.status == fault.status, faulty.outcome
    assert re.fullmatch(fault.reason, faulty.outcome.reason, re.DOTALL), faulty.outcome.reason
    assert (after.outcome.status, len(after.epochs)) == ("ok", 3), after.outcome
    assert orphans.find(f"{folder.resolve()}|") == []


@pytest.mark.usefixtures("quick")
def test_of_texts_without_end_the_beginning_is_kept(tmp_path: Path) -> None:
    _, faulty, _ = run(
        tmp_path, Fault("tell('note', text='x' * 10**6)\nfor _ in range(2000): tell('note', text='')", "ok")
    )
    notes = faulty.facts.notes
    assert len(notes) == 1000 and len(notes[0]) == 1000
    assert faulty.facts.events_damaged == 1001


AFTER_THE_END = {
    "a thread": ("import threading; threading.Thread(target=__import__('signal').pause).start()", "went on after"),
    "an exit handler": ("import atexit; atexit.register(__import__('signal').pause)", "went on after"),
    "a crash": ("import atexit; atexit.register(os.abort)", "was killed by SIGABRT after"),
    "an exit status": ("import atexit; atexit.register(os._exit, 3)", "ended with exit status 3 after"),
}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("does", "how"), AFTER_THE_END.values(), ids=AFTER_THE_END)
def test_what_goes_wrong_after_the_last_event_loses_nothing_that_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, how: str
) -> None:
    monkeypatch.setattr(launcher, "LINGER_SECONDS", 0.1)
    folder, faulty, _ = run(tmp_path, Fault(does, "ok"))
    assert (faulty.outcome.status, faulty.outcome.reason, len(faulty.epochs)) == ("ok", "", 3), faulty.outcome
    (note,) = faulty.facts.notes
    assert note.startswith(f"its process {how} its last event")
    one_run.rebuild(ToldRun(store.read(folder)))
    assert note in (folder / "summary.md").read_text()


def test_there_are_enough_faults() -> None:
    assert len(FAULTS) >= 25


@pytest.mark.usefixtures("quick")
def test_of_a_flood_the_first_and_the_last_part_are_kept(tmp_path: Path) -> None:
    flood = "os.write(1, b'first\\n')\nfor _ in range(100): os.write(1, b'shout! ' * 142858)\nos.write(1, b'last\\n')"
    folder, _, _ = run(tmp_path, Fault(f"{flood}\nos._exit(3)", "failed"))
    (log,) = folder.glob("cells/faulty__*/log.txt")
    assert log.stat().st_size <= guest_files.LOG_LIMIT
    said = log.read_bytes()
    assert said.startswith(b"first\n") and guest_files.LEFT_OUT in said and said.endswith(b"last\n")


def test_while_a_cell_speaks_nothing_of_its_log_is_moved_so_nothing_is_lost(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_bytes(b"first\n" + b"shout! " * (4 << 20) + b"last\n")
    size = log.stat().st_size
    guest_files.trim(log)
    assert log.stat().st_size == size and log.stat().st_blocks * 512 <= guest_files.LOG_LIMIT
    guest_files.trim(log, ended=True)
    assert log.stat().st_size <= guest_files.LOG_LIMIT
    text = log.read_bytes()
    assert text.startswith(b"first\n") and guest_files.LEFT_OUT in text and text.endswith(b"last\n")
    assert b"\0" not in text


@pytest.mark.usefixtures("quick")
def test_how_a_cell_failed_is_on_the_page_with_the_end_of_its_log(tmp_path: Path) -> None:
    says = "print('```\\nalmost'); print('\\x1b[31m<b>the end</b>', flush=True); os.abort()"
    folder, faulty, _ = run(tmp_path, Fault(says, "failed"))
    assert faulty.outcome.last_event == "epoch 1"
    assert faulty.outcome.last_lines == ("```", "almost", "<b>the end</b>")
    one_run.rebuild(ToldRun(store.read(folder)))
    page = (folder / "summary.md").read_text()
    assert "## What failed" in page
    assert "````text\n```\nalmost\n<b>the end</b>\n````" in page


@pytest.mark.usefixtures("quick")
def test_a_clock_that_is_set_back_in_the_host_changes_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher.time, "time", lambda: -1.0)
    _, faulty, after = run(tmp_path, Fault("", "ok"))
    assert 0 < (faulty.outcome.seconds or 0) < 60 and after.outcome.status == "ok"
