"""Fixtures for all tests: a temporary folder with fake backends, in which any kbench command can run."""

from __future__ import annotations

import signal
from pathlib import Path

import left_out
import pytest
from fake_bench import Bench, Shop, open_shop
from hypothesis import HealthCheck, settings

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first, or one worker is left with them at the end."""
    longest = ("test_real_tutorial.py", "real", "browser")
    items.sort(key=lambda item: [name not in item.path.parts for name in longest])


def pytest_unconfigure(config: pytest.Config) -> None:
    """The last lines say what was skipped, and what to install."""
    if reporter := config.pluginmanager.get_plugin("terminalreporter"):  # a worker has none
        for line in left_out.summary(reporter.stats.get("skipped", ())):
            reporter.write_line(line)


@pytest.fixture(scope="session")
def fake_shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return open_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture
def bench(
    tmp_path: Path, fake_shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Bench:
    return Bench(tmp_path, fake_shop, monkeypatch, capsys)
