"""What runs exported models answers all that a framework is asked."""

from __future__ import annotations

from pathlib import Path

from framework_answers import INTERFACES, classes, unanswered


def test_a_runtime_answers_all_that_a_framework_is_asked(tmp_path: Path) -> None:
    (made,) = classes(tmp_path, ["kbench_runtimes.exported"]).values()
    assert [unanswered(made, interface) for interface in INTERFACES] == [set()] * len(INTERFACES)
