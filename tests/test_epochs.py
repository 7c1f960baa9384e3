"""A cell's epochs as arrays: what was told is told apart from what was not, and nothing is lost on the way."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from kbench.epochs import MOST, Epoch, Epochs

NUMBERS = st.none() | st.floats()
SECONDS = st.floats(0, 1e9)
EPOCHS = st.lists(
    st.builds(
        Epoch,
        st.integers(0, MOST - 1),
        SECONDS,
        st.integers(0, MOST - 1),
        *[NUMBERS] * 4,
        *[st.none() | SECONDS] * 2,
        st.lists(SECONDS, max_size=3).map(tuple),
    ),
    max_size=4,
)


@given(EPOCHS)
def test_epochs_come_back_as_they_were_told(told: list[Epoch]) -> None:
    found = Epochs(told)
    assert repr(list(found)) == repr(told)  # as text, where NaN equals itself
    assert len(found) == len(told)
    assert repr(found[1:]) == repr(tuple(told[1:]))
    if told:
        assert repr(found[-1]) == repr(told[-1])
        assert type(found[0].epoch) is int and type(found[0].seconds) is float


def test_a_number_that_was_not_told_is_told_apart_from_one_that_is_none() -> None:
    found = Epochs([Epoch(1, 1.0, 9, loss=math.nan), Epoch(2, 1.0, 9), Epoch(3, 1.0, 9, loss=0.5)])
    assert [math.isnan(loss) for loss in found.loss.tolist()] == [True, True, False]
    assert repr(found.values("loss")) == "[nan, None, 0.5]"
    assert repr(found.told("loss").tolist()) == "[nan, 0.5]"
    assert found.values("val_loss") == [None] * 3 and found.told("val_loss").size == 0


def test_the_first_epoch_is_not_steady_and_neither_are_its_steps() -> None:
    told = [Epoch(1, 9.0, 9, step_seconds=(5.0, 4.0)), Epoch(2, 1.0, 9), Epoch(3, 2.0, 9, step_seconds=(2.0,))]
    assert Epochs(told).steady.tolist() == [False, True, True]
    assert Epochs(told).steady_steps.tolist() == [2.0]
    assert Epochs(told[1:]).steady.tolist() == [True, True], "where the first was lost"
    assert Epochs().steady_steps.size == 0


def test_epochs_are_equal_where_each_of_them_is() -> None:
    assert Epochs([Epoch(1, 1.0, 9)]) == Epochs([Epoch(1, 1.0, 9)]) == (Epoch(1, 1.0, 9),)
    assert Epochs([Epoch(1, 1.0, 9)]) != Epochs([Epoch(1, 1.5, 9)])
    assert Epochs() != 3
