"""Whatever the user's locale, file names and text are UTF-8."""

from __future__ import annotations

import pytest
from fake_bench import Bench

from kbench.base import locales

pytestmark = pytest.mark.slow("runs all commands")

UTF8 = "C.UTF-8"


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({}, {"LC_CTYPE": UTF8}),
        ({"LANG": UTF8, "LC_TIME": "C"}, {"LANG": UTF8, "LC_TIME": "C"}),
        ({"LC_ALL": UTF8, "LANG": "C"}, {"LC_ALL": UTF8, "LANG": "C"}),
        ({"LC_ALL": "", "LANG": UTF8}, {"LC_ALL": "", "LANG": UTF8}),
        ({"LANG": "C", "LC_TIME": "C.UTF-8"}, {"LANG": "C", "LC_TIME": "C.UTF-8", "LC_CTYPE": UTF8}),
        # It counts before all others, also for what it still says.
        ({"LC_ALL": "C", "LANG": UTF8, "LC_TIME": UTF8}, {"LANG": "C", "LC_CTYPE": UTF8}),
        # As ssh brings it to a machine that does not have it.
        ({"LANG": "xx_XX.UTF-8"}, {"LANG": "xx_XX.UTF-8", "LC_CTYPE": UTF8}),
    ],
)
def test_only_the_encoding_of_a_locale_changes_and_only_if_it_is_not_utf_8(
    given: dict[str, str], made: dict[str, str]
) -> None:
    assert locales.in_utf8({"A": "b", **given}) == {"A": "b", **made}


def test_without_any_locale_of_utf_8_all_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locales, "KNOWN", ("xx_XX.UTF-8",))
    assert locales.in_utf8({"LC_ALL": "C"}) == {"LC_ALL": "C"}


@pytest.mark.parametrize(
    "others",
    [
        (["report", "mine", "--no-plots"],),
        pytest.param((["list", "runs"], ["compare", "mine", "mine"], ["resume", "mine"]), marks=pytest.mark.thorough),
    ],
    ids=["report", "others"],
)
def test_in_a_locale_of_ascii_commands_work_on_a_run_with_other_letters(
    bench: Bench, others: tuple[list[str], ...]
) -> None:
    bench.example("größe_λ.py")
    bench.patch.setenv("LC_ALL", "POSIX")
    bench.patch.setenv("PYTHONUTF8", "0")
    bench.patch.setenv("PYTHONCOERCECLOCALE", "0")
    run = [
        "--backends",
        "fake",
        "--examples",
        "größe_λ.py",
        "--profile",
        "smoke",
        "--device",
        "cpu",
        "--repeats",
        "1",
    ]
    for command in (["run", *run, "--name", "mine", "--no-plots"], *others):
        started = bench.start(*command, as_users_do=True)
        out, err = started.communicate(timeout=120)
        assert started.returncode == 0 and "Traceback" not in err, (command, err)
        assert "gr??e_?" in out, (command, out)
    assert bench.fates() == {"größe_λ": ("ok", "")}
