"""Text that a model writes: the most probable token each time, behind the last places that the model sees."""

from __future__ import annotations

from typing import Any

import numpy as np
from guest_modules import alone

generation = alone("training/generation")
TOKENS = 10


class Counts:
    """A model whose most probable token is the one before it plus its distance from the one at the front."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def predict_on_batch(self, window: Any) -> Any:
        self.seen.append(window.tolist())
        right = (window[:, -1] + window[:, -1] - window[:, 0]) % TOKENS
        probabilities = np.full((*window.shape, TOKENS), 0.01)
        probabilities[:, :-1, 3] = 0.9  # what it says of other places does not matter
        probabilities[np.arange(len(window)), -1, right] = 0.8
        return probabilities


def test_each_token_is_the_most_probable_one_behind_those_before_it() -> None:
    model = Counts()
    texts = np.array([[1, 2, 3], [4, 4, 6]], "int32")
    written, first = generation.write(model, texts, 3, batch_size=2)
    assert written.tolist() == [[5, 8, 3], [8, 2, 8]]
    assert model.seen[1] == [[2, 3, 5], [4, 6, 8]], "the first place goes as a new one comes"
    assert first >= 0
    assert texts.tolist() == [[1, 2, 3], [4, 4, 6]]


def test_texts_are_written_batch_by_batch() -> None:
    model = Counts()
    texts = np.arange(8, dtype="int32").reshape(4, 2)
    alone_, _ = generation.write(model, texts, 5, batch_size=1)
    assert len(model.seen) == 4 * 5
    together, _ = generation.write(Counts(), texts, 5, batch_size=4)
    assert alone_.tolist() == together.tolist() and together.shape == (4, 5)
