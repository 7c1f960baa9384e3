"""The commits of a package in a checkout of the user's, each in a worktree of its own while it is measured."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kbench.base import paths
from kbench.errors import UserError
from kbench.words.text import plain

_DIGITS = 10  # of a commit's hash, in names


@dataclass(frozen=True)
class Commit:
    """A commit: the start of its hash, and the first line of its message."""

    name: str
    subject: str


@dataclass
class Checkout:
    """A git checkout, and the worktrees that were made of it below `place`."""

    folder: Path
    place: Path
    made: dict[str, Path] = field(default_factory=dict)

    def worktree(self, commit: str) -> Path:
        """The folder with the files of that commit. Raises UserError."""
        if commit not in self.made:
            folder = self.place / commit
            _git(self.folder, "worktree", "add", "--detach", "--quiet", str(folder), commit)
            self.made[commit] = folder
        return self.made[commit]

    def between(self, good: str, bad: str) -> list[Commit]:
        """The commits from `good` to `bad`, both included, along first parents. Raises UserError."""
        ends = [self._commit(option, name) for option, name in (("--good", good), ("--bad", bad))]
        if ends[0] == ends[1]:
            raise UserError(f"--good {good} and --bad {bad} are the same commit: name an earlier and a later one.")
        if not _succeeds(self.folder, "merge-base", "--is-ancestor", *ends):
            raise UserError(f"--good {good} is not an ancestor of --bad {bad} in {self.folder}.")
        form = f"--abbrev={_DIGITS}", "--format=%h%x00%s"
        text = _git(self.folder, "log", "--reverse", "--first-parent", *form, f"{ends[0]}..{ends[1]}")
        first = _git(self.folder, "log", "-1", *form, ends[0])
        lines = [line.partition("\0") for line in (*first.splitlines(), *text.splitlines())]
        return [Commit(name, plain(subject)[:72]) for name, _, subject in lines]

    def _commit(self, option: str, name: str) -> str:
        try:
            return _git(self.folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        except UserError:
            raise UserError(
                f"{option} {name[:50]!r} is no commit, tag or branch in {self.folder}: `git fetch` may bring it."
            ) from None


@contextlib.contextmanager
def checkout(text: str) -> Iterator[Checkout]:
    """The checkout in the folder `text`; its worktrees are removed at the end. Raises UserError."""
    folder = paths.with_home(text).absolute()
    if not folder.is_dir():
        raise UserError(f"{text} is not a folder: name a git checkout of the package.")
    if not _succeeds(folder, "rev-parse", "--git-dir"):
        raise UserError(f"{text} is not a git checkout, so it has no commits to search: `git clone` one.")
    with tempfile.TemporaryDirectory(prefix="kbench-bisect-") as place:
        found = Checkout(folder, Path(place))
        try:
            yield found
        finally:
            for made in found.made.values():
                _succeeds(folder, "worktree", "remove", "--force", str(made))
            _succeeds(folder, "worktree", "prune")


def _git(folder: Path, *arguments: str) -> str:
    """What git prints. Raises UserError."""
    done = _run(folder, *arguments)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason"])[-1]
        raise UserError(f"git {arguments[0]} in {folder} fails: {plain(last)[:200]}")
    return done.stdout.strip()


def _succeeds(folder: Path, *arguments: str) -> bool:
    return _run(folder, *arguments).returncode == 0


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
        )
    except FileNotFoundError:
        raise UserError("bisect by commit needs git, which is not installed: install it.") from None
