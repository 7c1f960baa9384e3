"""Prepares bAbI's question-answering task 2 as Keras's classic babi_rnn example reads it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from kbench.datasets import archives
from kbench.datasets.arrays import Array, Contents, Create
from kbench.datasets.registry import RemoteFile

VALIDATION_SPLIT = 0.05  # of the training stories, from their end, as Keras's fit takes it

Question = tuple[list[str], list[str], str]  # the story so far, the question, the answer; as tokens


def write(create: Create, file: RemoteFile, path: Path) -> Contents:
    """Fills x_*_0 (samples, story length), x_*_1 (samples, query length) and y_*: int32 word numbers, int64.

    Words are numbered from 1 in sorted order and 0 pads at the front; the answer is a word's number too, so
    there is one class more than words. Vocabulary and lengths are those of training and test texts
    together, though the test questions are not used. The members of `file` are both texts. Raises UserError.
    """
    train, test = (questions(text) for _, text in sorted(archives.members(path, file)))
    words = sorted({word for story, query, answer in train + test for word in (*story, *query, answer)})
    number = {word: place for place, word in enumerate(words, start=1)}
    story_length = max(len(story) for story, _, _ in train + test)
    query_length = max(len(query) for _, query, _ in train + test)
    split = int(len(train) * (1.0 - VALIDATION_SPLIT))
    for role, part in (("train", train[:split]), ("validation", train[split:])):
        stories = create(f"x_{role}_0", (len(part), story_length), np.int32)
        queries = create(f"x_{role}_1", (len(part), query_length), np.int32)
        answers = create(f"y_{role}", (len(part),), np.int64)
        for row, (story, query, answer) in enumerate(part):
            pad_front(stories[row], [number[word] for word in story])
            pad_front(queries[row], [number[word] for word in query])
            answers[row] = number[answer]
    return Contents(num_classes=len(words) + 1)


def questions(text: bytes) -> list[Question]:
    """The questions of a bAbI text, each with all statements of its story so far.

    A line is "number statement" or "number question<tab>answer<tab>supporting lines"; 1 starts a story.
    """
    found: list[Question] = []
    story: list[str] = []
    for line in text.decode("utf-8").splitlines():
        number, _, rest = line.strip().partition(" ")
        if int(number) == 1:
            story = []
        if "\t" in rest:
            query, answer, _supporting = rest.split("\t")
            found.append((list(story), tokens(query), answer))
        else:
            story += tokens(rest)
    return found


def tokens(sentence: str) -> list[str]:
    """Words and punctuation marks, in order: "Where is Mary?" gives Where, is, Mary, ?."""
    # The classic example's (\W+)? matches the empty string, which re.split treats otherwise since Python 3.7.
    return [part.strip() for part in re.split(r"(\W+)", sentence) if part.strip()]


def pad_front(row: Array, numbers: list[int]) -> None:
    """Right-aligns `numbers` in `row`, which is zero before them: pad_sequences' default."""
    row[len(row) - len(numbers) :] = numbers
