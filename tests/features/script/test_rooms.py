"""Which part of a program's guest may import which: the rules of the core's guest, for this one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from kbench import hooks
from kbench.base import paths

RULES = """
[tool.importlinter]
root_packages = ["kbench_script", "kbench_guest"]

[[tool.importlinter.contracts]]
name = "Imports run downwards"
type = "layers"
containers = ["kbench_script"]
exhaustive = true
layers = ["driver", "watching | hosting", "program_files | batches"]

[[tool.importlinter.contracts]]
name = "Without a ring"
type = "acyclic_siblings"
ancestors = ["kbench_script"]

[[tool.importlinter.contracts]]
name = "The core imports nothing of it"
type = "forbidden"
source_modules = ["kbench_guest"]
forbidden_modules = ["kbench_script"]
"""


def test_imports_run_downwards_in_the_guest_and_not_in_a_ring(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(RULES)
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{paths.GUEST}:{hooks.guest_folder('script')}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
