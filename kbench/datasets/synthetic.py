"""Generates synthetic data with the shapes and counts of the real datasets, and random images."""

from __future__ import annotations

import numpy as np

from kbench.datasets.arrays import Array, Contents, Create, arrange, sample_shape
from kbench.datasets.babi import pad_front, tokens
from kbench.datasets.imdb import INDEX_FROM, LENGTH, START, VOCABULARY

# Only integers from RandomState: the same on every machine and with every numpy.
SEED = 1
CHUNK = 1000  # images drawn at a time; part of what the values depend on


def images(
    create: Create,
    image: tuple[int, int, int],
    counts: tuple[int, int],
    input: str,
    image_data_format: str,
    num_classes: int = 10,
) -> Contents:
    """Fills arrays like MNIST's or CIFAR-10's: a coarse pattern for each class, and noise as strong.

    `image` is (height, width, channels); `counts` are the training and the validation samples.
    """
    random = np.random.RandomState(SEED)
    height, width, channels = image
    # Blocks of four pixels: a pattern that convolutions and pooling keep.
    coarse = random.randint(0, 128, (num_classes, height // 4, width // 4, channels), dtype=np.uint8)
    patterns = coarse.repeat(4, axis=1).repeat(4, axis=2)
    shape = sample_shape(image, input, image_data_format)
    for role, count in zip(("train", "validation"), counts, strict=True):
        x = create(f"x_{role}", (count, *shape), np.uint8)
        y = create(f"y_{role}", (count,), np.int64)
        for start in range(0, count, CHUNK):
            part = slice(start, min(start + CHUNK, count))
            y[part] = random.randint(0, num_classes, part.stop - start, dtype=np.int64)
            noise = np.frombuffer(random.bytes((part.stop - start) * patterns[0].size), np.uint8) >> 1
            drawn = patterns[y[part]] + noise.reshape(-1, *image)
            x[part] = arrange(drawn, input, image_data_format)
    return Contents(num_classes=num_classes, divisor=255.0)


# The 35 words of the real task; their number in sorted order, from 1, is the token.
_WORDS = """
. ? Daniel John Mary Sandra Where apple back bathroom bedroom discarded down dropped football garden got grabbed
hallway is journeyed kitchen left milk moved office picked put the there to took travelled up went
"""
WORDS = tuple(_WORDS.split())
PEOPLE = ("Daniel", "John", "Mary", "Sandra")
OBJECTS = ("apple", "football", "milk")
PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
STORY_LENGTH, QUERY_LENGTH = 552, 5
STATEMENTS = (4, 93)  # randint(*STATEMENTS): at most 92 statements of 6 tokens, which are 552


def babi(create: Create, counts: tuple[int, int] = (950, 50)) -> Contents:
    """Fills arrays like bAbI task 2's. The answer is the place at which the last four people were seen.

    Far easier than the real task, which takes two facts that lie anywhere in the story: here the word
    before the last full stop is the answer, so that a recurrent network learns it within few epochs.
    """
    random = np.random.RandomState(SEED)
    number = {word: place for place, word in enumerate(WORDS, start=1)}
    for role, count in zip(("train", "validation"), counts, strict=True):
        stories = create(f"x_{role}_0", (count, STORY_LENGTH), np.int32)
        queries = create(f"x_{role}_1", (count, QUERY_LENGTH), np.int32)
        answers = create(f"y_{role}", (count,), np.int64)
        for row in range(count):
            length = random.randint(*STATEMENTS, dtype=np.int64)
            people = random.randint(0, len(PEOPLE), length, dtype=np.int64)
            places = random.randint(0, len(PLACES), length, dtype=np.int64)
            places[-4:] = places[-1]
            story = [f"{PEOPLE[who]} went to the {PLACES[where]}." for who, where in zip(people, places, strict=True)]
            asked = f"Where is the {OBJECTS[random.randint(0, len(OBJECTS), dtype=np.int64)]}?"
            pad_front(stories[row], [number[word] for word in tokens(" ".join(story))])
            pad_front(queries[row], [number[word] for word in tokens(asked)])
            answers[row] = number[PLACES[places[-1]]]
    return Contents(num_classes=len(WORDS) + 1)


SHORTEST_REVIEW = 40
COMMON = 2000  # most words of a text are among its most frequent ones
TELLING = 50  # words of each class's own
TELLING_SHARE = 8  # one word in so many is telling
HONEST = (9, 10)  # of which so many speak for the review's class, the rest against it


def imdb(create: Create, counts: tuple[int, int] = (25_000, 25_000)) -> Contents:
    """Fills arrays like IMDB's: frequent and rare words at random, and one in eight that shows the class."""
    random = np.random.RandomState(SEED)
    for role, count in zip(("train", "validation"), counts, strict=True):
        x = create(f"x_{role}", (count, LENGTH), np.int32)
        y = create(f"y_{role}", (count,), np.int64)
        for start in range(0, count, CHUNK):
            part = slice(start, min(start + CHUNK, count))
            labels = random.randint(0, 2, part.stop - start, dtype=np.int64)
            y[part] = labels
            x[part] = _reviews(random, labels)
    return Contents(num_classes=2)


def _reviews(random: np.random.RandomState, labels: Array) -> Array:
    """Tokens (samples, 150), padded at the front; telling words are the first after the common ones."""
    size = (len(labels), LENGTH)
    first = INDEX_FROM + 1
    common = random.randint(first, first + COMMON, size, dtype=np.int32)
    rare = random.randint(first, VOCABULARY, size, dtype=np.int32)
    words = np.where(random.randint(0, 5, size, dtype=np.int32) > 0, common, rare)
    honest = random.randint(0, HONEST[1], size, dtype=np.int32) < HONEST[0]
    speaks_for = np.where(honest, labels[:, None], 1 - labels[:, None])
    telling = first + COMMON + TELLING * speaks_for + random.randint(0, TELLING, size, dtype=np.int32)
    words = np.where(random.randint(0, TELLING_SHARE, size, dtype=np.int32) == 0, telling, words)
    lengths = random.randint(SHORTEST_REVIEW, 2 * LENGTH, len(labels), dtype=np.int32)
    begin = np.maximum(LENGTH - lengths, 0)[:, None]
    columns = np.arange(LENGTH)[None, :]
    words = np.where(columns < begin, 0, words)
    words[(columns == begin) & (begin > 0)] = START
    return words


CHARACTERS, PLAY_LENGTH = 68, 125_179  # of the real play
FOLLOWS = (3, 4)  # of which so many follow from the character before, the rest are random


def play() -> Array:
    """A text as character numbers: most follow from the one before."""
    random = np.random.RandomState(SEED)
    drawn = random.randint(0, CHARACTERS, PLAY_LENGTH, dtype=np.int32)
    follows = random.randint(0, FOLLOWS[1], PLAY_LENGTH, dtype=np.int32) < FOLLOWS[0]
    text = drawn.tolist()
    for place in np.flatnonzero(follows[1:]) + 1:
        text[place] = (5 * text[place - 1] + 1) % CHARACTERS
    return np.array(text, np.int32)


RANDOM_IMAGES = 1280
RANDOM_IMAGE = (224, 224, 3)
DRAWN_AT_A_TIME = 32  # 37 MiB


def random_images(create: Create, samples: int, image_data_format: str) -> Contents:
    """Fills x_train (samples, 224, 224, 3), or channels first: float32, uniform in [0, 1); no labels.

    Fewer samples are the first ones of more. Drawn as channels_last, so that both layouts hold the same images.
    """
    shape = sample_shape(RANDOM_IMAGE, "image", image_data_format)
    images = create("x_train", (samples, *shape), np.float32)
    random = np.random.RandomState(0)
    for start in range(0, samples, DRAWN_AT_A_TIME):
        drawn = random.random_sample((min(DRAWN_AT_A_TIME, samples - start), *RANDOM_IMAGE))
        images[start : start + len(drawn)] = arrange(below_one(drawn), "image", image_data_format)
    return Contents(num_classes=0)


def below_one(drawn: Array) -> Array:
    """`drawn`, float64 in [0, 1), as float32 in [0, 1): rounding alone makes a 1 of one in 30 million."""
    rounded: Array = drawn.astype(np.float32)
    rounded[rounded == 1] = np.nextafter(np.float32(1), np.float32(0))
    return rounded
