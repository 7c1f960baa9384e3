"""Which public names of Keras fail or compute something else on a backend, and the command that tries them alone."""

from __future__ import annotations

from collections.abc import Sequence

from kbench import hooks
from kbench.analysis.rows import program
from kbench.base.masking import without_passwords
from kbench.features.script import events
from kbench.features.script.events import Raised
from kbench.records.values import OK, Measured
from kbench.store import RunResults
from kbench.words.text import listed, plain

MOST_GIVEN = 3
TRYING = "coverage"  # the command, if this kbench has it


def sentences(run: RunResults) -> list[str]:
    """One for each name that raises on some backends where the same ends well on another."""
    cells: dict[str, list[Measured]] = {}
    for one in run.measured:
        cells.setdefault(one.cell.example, []).append(one)
    found: dict[Raised, list[str]] = {}
    for several in cells.values():
        if any(one.outcome.status == OK for one in several):
            for one in several:
                raised = events.raised(one.facts)
                if raised and not one.outcome.out_of_memory and one.cell.backend not in found.get(raised, ()):
                    found.setdefault(raised, []).append(one.cell.backend)
    return [_sentence(raised, backends, program(run)) for raised, backends in found.items()]


def _sentence(raised: Raised, backends: Sequence[str], started: str) -> str:
    within = f" within `{raised.within}`" if raised.within else ""
    more = ", ..." if len(raised.given) > MOST_GIVEN else ""
    given = f" (given {', '.join(raised.given[:MOST_GIVEN])}{more})" if raised.given else ""
    error = without_passwords(plain(raised.error)).rstrip(".:")
    names = [raised.name, *filter(None, [raised.within])]
    return f"On {listed(backends)} `{raised.name}`{within} raises {error}{given}{tried(names, backends, started)}."


def tried(names: Sequence[str], backends: Sequence[str], started: str) -> str:
    """What ends a sentence on these names: the command that tries them; empty where there is none. started: as kbench
    was.
    """
    command = f"{started} {TRYING} --backends {','.join(backends)} --only {','.join(names)}"
    return f": `{command}`" if TRYING in hooks.commands() else ""
