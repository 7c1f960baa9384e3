"""parity.csv and parity.md of a parity run, made from what its guests computed."""

from __future__ import annotations

from kbench.machine.provenance import describe
from kbench.parity.reading import rows
from kbench.parity.values import Agreement
from kbench.store.files import replace
from kbench.store.reading import RunResults
from kbench.tables import parity as tables


def rebuild(run: RunResults) -> list[Agreement]:
    """Write parity.csv and parity.md anew; return the comparison. Raises UserError where they cannot be written."""
    found = rows(run)
    page = tables.page(
        run.name, describe(run.provenance), str(run.provenance.get("command_line", "")), found, heading_facts(run)
    )
    replace(run.folder / "parity.csv", tables.csv(found).encode(), durable=False)
    replace(run.folder / "parity.md", page.encode(), durable=False)
    return found


def heading_facts(run: RunResults) -> str:
    """What all tables of the run have in common: "recurrent layers in the form that ships"."""
    return "recurrent layers in the form that ships" if run.plan.get("form") == "default" else ""
