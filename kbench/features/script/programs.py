"""What the core asks about a user's program, answered."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

from kbench.additions import Programs
from kbench.base import paths
from kbench.cells.spec import RunPaths, WorkTerms
from kbench.features.script import choosing, figures, process, reading, secrets_again, standard_input, workdir
from kbench.planning.request import Request, Script
from kbench.planning.tasks import CellTask
from kbench.records.values import Backend, Example
from kbench.session.events import OnEvent
from kbench.store import CellFolder


class UserPrograms(Programs):
    """Files, modules and notebooks in Python."""

    def asked(self, options: Mapping[str, Any], known: Mapping[str, Backend]) -> tuple[Example, Script]:
        """By FILE, --script or -m."""
        return choosing.asked(options, known)

    def load(self, file: Path, module: str) -> Example:
        """It is parsed, not run."""
        return reading.load(file, module)

    def with_secrets(
        self,
        asked: Request,
        given: tuple[Sequence[str], Sequence[str]],
        known: Mapping[str, Backend],
        run: Path,
    ) -> Request:
        """Packages also from its `# /// script` block."""
        return secrets_again.with_secrets(asked, *given, known, run)

    def cells(self, file: Path) -> tuple[str, ...]:
        """As Python."""
        return reading.cells(file)

    def text(self, file: Path, module: str) -> str:
        """With its package, or what it imports from beside it."""
        return reading.text(file, module)

    def check(self, request: Request, results: Path) -> None:
        """Its folder is copied for each cell."""
        assert request.script is not None
        workdir.check(reading.root(paths.with_home(request.examples[0]).absolute(), request.script.module), results)

    def input(self, on_event: OnEvent) -> AbstractContextManager[IO[bytes] | None]:
        """In a temporary file."""
        return standard_input.kept(on_event)

    @contextlib.contextmanager
    def work(self, task: CellTask, run_paths: RunPaths, files: CellFolder) -> Iterator[WorkTerms]:
        """In a copy of its folder, or in the folder itself."""
        with workdir.work(task, run_paths, files) as place:
            told, variables = process.told(task, run_paths, place), process.secret_arguments(task, run_paths)
            try:
                yield WorkTerms(place.folder, told, variables)
            finally:
                figures.tell_printed((task.script or {}).get("figures", ()), files)

    def where(self, task: CellTask, run_paths: RunPaths) -> str:
        """With the folder that is copied."""
        return workdir.where(task, run_paths)
