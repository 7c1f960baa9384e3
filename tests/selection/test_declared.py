"""What backends' files declare excuses little: large bounds only where a formula differs, and then by name."""

from __future__ import annotations

from collections.abc import Iterator

from kbench.base import paths
from kbench.records.backend_keys import Explanation
from kbench.selection import backends

LARGEST = 0.2
# Where a formula differs, by how much follows from the model and not from the backend: what is declared of it, by a
# word of its reason, and the only quantities for which its bound may be larger.
FORMULAS = {
    "RMSprop's epsilon": {"bound_of_loss"},
    "crossentropy from the logits": {"bound_of_loss"},
    "second moment sums the squares": {"bound", "bound_of_change"},
    "zero_debias": {"bound"},  # its change in the first step follows the formula exactly
    "after the weights have changed": {"bound", "bound_of_change"},
    "divides a weighted loss": {"bound", "bound_of_loss"},
}
NEEDED = ("layer", "with_layer", "optimizer", "setting")


def declared() -> Iterator[tuple[str, Explanation]]:
    """(backend, each difference that its file explains, but for faults: with these its rows differ)."""
    for name, backend in backends.load_all(paths.project_folder("backends")).items():
        yield from ((name, one) for one in backend.explained if not one.fault)


def test_no_bound_is_large_but_of_a_formula_that_differs() -> None:
    large = [
        (name, bound, one.reason)
        for name, one in declared()
        for bound in ("bound", "bound_of_loss", "bound_of_change")
        if getattr(one, bound) > LARGEST
        and not any(word in one.reason and bound in allowed for word, allowed in FORMULAS.items())
    ]
    assert large == []


def test_every_declared_difference_names_what_it_needs() -> None:
    assert [
        (name, one.reason)
        for name, one in declared()
        if not one.as_shipped and not any(getattr(one, key) for key in NEEDED)
    ] == []


def test_a_large_difference_of_a_first_step_needs_more_than_a_layer() -> None:
    """Ties, the order of updates, or a formula that is computed: not a mere name."""
    bare = [
        (name, one.reason)
        for name, one in declared()
        if one.bound_of_change > LARGEST and not (one.repeated or one.untrained or one.formula)
    ]
    assert bare == []
