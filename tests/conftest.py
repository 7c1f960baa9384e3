"""Fixtures for all tests: a temporary folder with fake backends, in which any kbench command can run."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import left_out
import pytest
import whole_suite
from fake_bench import Bench, Shop, open_shop
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

# A busy machine is no failure, and a folder may serve several examples.
settings.register_profile(
    "kbench", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("kbench")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Tests that were started in the background ignore Ctrl-C, and so would every process that they send one to.
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # under nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


# What takes long: whoever measures, starts a browser or makes environments; and whole folders and files.
SLOW_FIXTURES = {"bench", "kbench", "browser"}
SLOW = {"bootstrap", "cluster", "datasets", "environments", "faults", "outputs", "plots", "real"}
SLOW |= {"test_documentation_site.py", "test_left_out.py", "test_packaging.py"}
SLOW |= {"test_faults_of_workers.py", "test_launcher.py"}
# Though they are there, import subprocess, or have a bench. What starts a process in them is marked `processes`.
QUICK = {
    "test_backend_settings.py", "test_browser.py", "test_cli_around.py", "test_costs.py", "test_datasets_as_keras.py",
    "test_datasets_download.py", "test_datasets_npz.py", "test_datasets_pictures.py", "test_datasets_prepared.py",
    "test_datasets_safety.py", "test_datasets_shipped.py", "test_datasets_texts.py", "test_findings_json.py",
    "test_folder.py", "test_gpu_memory.py", "test_guest_protocol.py", "test_joined.py", "test_machines.py",
    "test_new.py", "test_peak_rates.py", "test_performance_profile.py", "test_pip_config.py", "test_progress.py",
    "test_schedule.py", "test_security.py", "test_wrong_files.py",
}  # fmt: skip


def parts(path: Path) -> set[str]:
    """The folders below this one that a file is in, and the file: a checkout may be in a folder of any name."""
    return {*path.relative_to(Path(__file__).parent).parts}


def is_fast(item: pytest.Item) -> bool:
    """Whether it is one of the tests that take a minute together."""
    starts_processes = hasattr(getattr(item, "module", None), "subprocess")
    slow = starts_processes or SLOW & parts(item.path) or SLOW_FIXTURES & {*getattr(item, "fixturenames", ())}
    marked = item.get_closest_marker("thorough") or item.get_closest_marker("processes")
    return not marked and (not slow or item.path.name in QUICK)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(whole_suite.OPTION, action="store_true", help="keep durations; leave out unchanged real tests")


def pytest_configure(config: pytest.Config) -> None:
    whole_suite.began(config)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """None of SLOW is imported to be left out."""
    if config.option.markexpr != "fast" or not SLOW & parts(collection_path):
        return None
    files = collection_path.rglob("test_*.py") if collection_path.is_dir() else [collection_path]
    return None if QUICK & {file.name for file in files} else True


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their markers
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks the fast ones. The longest come first, or one worker is left with them at the end."""
    for item in filter(is_fast, items):
        item.add_marker("fast")
    longest = ("test_real_tutorial.py", "real", "browser")
    items.sort(key=lambda item: [name not in parts(item.path) for name in longest])
    whole_suite.leave_out_real_tests(config, items)
    whole_suite.note_why_slow(items)


# Files whose tests look at what one of them measured, or share processes of backends: a worker has all of a group.
TOGETHER = {
    "test_real_backends.py": "examples",
    "test_real_kinds.py": "examples",
    "test_real_exports.py": "exports",
    "test_real_first_step.py": "first step",
    "test_real_native.py": "native",
    "test_real_parity.py": "parity",
    "test_real_questions.py": "questions",
    "test_real_unlike_programs.py": "unlike programs",
}


class Groups(LoadScopeScheduling):
    """Gives a worker one test at a time, or one such group, in the order that they have."""

    def _split_scope(self, nodeid: str) -> str:
        return TOGETHER.get(Path(nodeid.partition("::")[0]).name, nodeid)


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Groups:
    config.option.loadscopereorder = False
    return Groups(config, log)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")  # a worker has none
    if reporter and whole_suite.LINES not in session.config.stash:  # xdist calls it twice
        session.config.stash[whole_suite.LINES] = whole_suite.ended(session.config, reporter.stats, exitstatus)


def pytest_unconfigure(config: pytest.Config) -> None:
    """The last lines say which tests are slow, what was skipped, and what to install."""
    if reporter := config.pluginmanager.get_plugin("terminalreporter"):
        skipped = left_out.summary(reporter.stats.get("skipped", ()))
        for line in (*config.stash.get(whole_suite.LINES, ()), *skipped):
            reporter.write_line(line)


@pytest.fixture(autouse=True)
def fast_tests_start_no_process(request: pytest.FixtureRequest) -> Iterator[None]:
    def refuse(process: Any, command: object, *_: object, **__: object) -> None:
        process._child_created = False  # or its destructor complains
        pytest.fail(
            f"A fast test starts no process ({command}): mark it `processes`, or its file in tests/conftest.py."
        )

    with pytest.MonkeyPatch.context() as patch:
        if request.node.get_closest_marker("fast"):
            patch.setattr(subprocess.Popen, "__init__", refuse)
        yield


@pytest.fixture(scope="session")
def fake_shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return open_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def bench(
    tmp_path: Path, fake_shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Bench:
    return Bench(tmp_path, fake_shop, monkeypatch, capsys)
