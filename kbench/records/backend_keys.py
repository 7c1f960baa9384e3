"""The types of values in a backend's file; an error shows their description."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct, ValidationError, convert, field

PLACEHOLDERS = (
    "env",
    "cache",
    "example",
    "compiled",
    "threads",
    "threads_from_2",
    "process_threads",
    "python_lib",
    "inherited",
)
_KNOWN = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
Text = Annotated[str, Meta(pattern=r"\A[^\n]*\S[^\n]*\Z", description="a text of one line")]
Texts = Annotated[tuple[Text, ...], Meta(description="a list of texts")]
Table = Annotated[Mapping[str, Text], Meta(description="a table of texts")]
Filled = Annotated[str, Meta(pattern=rf"\A([^{{}}\n\0]|\{{({'|'.join(PLACEHOLDERS)})\}})+\Z")]
VariableName = Annotated[str, Meta(pattern=r"\A[A-Za-z_][A-Za-z0-9_]*\Z")]
Variables = Annotated[
    Mapping[VariableName, Filled],
    Meta(description=f"a table of variables' names and texts with no other placeholders than {_KNOWN}"),
]
Flag = Annotated[bool, Meta(description="true or false")]
Sources = Annotated[Mapping[str, Path], Meta(description="a table of C sources next to it")]
Times = Annotated[
    Mapping[str, tuple[Text, Text]],
    Meta(description='a table of Keras\'s releases, each with a version and a month: ["0.4.33", "October 2024"]'),
]
Layout = Annotated[Literal["channels_first", "channels_last"], Meta(description="channels_first or channels_last")]

Pythons = Annotated[
    tuple[Annotated[str, Meta(pattern=r"\A3\.\d+\Z")], ...],
    Meta(min_length=1, description='a list of Python versions such as ["3.11"]'),
]


class Release(Struct, frozen=True, forbid_unknown_fields=True):
    """What a release of a framework needs that has its Keras beside it, and those up to the next such entry."""

    of: Annotated[str, Meta(pattern=r"\A\d+\.\d+\Z")] = field(name="from")
    requirements: Annotated[Texts, Meta(min_length=1)]  # the first is its Keras; {minor} is the release, such as 2.15
    python: Pythons | None = None  # those of the backend if left out


Releases = Annotated[
    tuple[Release, ...],
    Meta(
        description='[[releases]] tables with `from` = "2.15", `requirements` (its Keras first) and perhaps `python`'
    ),
]
Forms = Annotated[
    Mapping[str, Literal["unrolled", "hidden state last"]],
    Meta(description='a table of layer classes, each "unrolled" or "hidden state last"'),
]

# The quantities in which backends may differ, in the order of tables.
Quantity = Literal["outputs", "layers", "loss", "1 step", "10 steps"]
QUANTITIES = get_args(Quantity)
# Parity compares neither what evaluate returns, if outputs agree, nor the loss of epoch 1, if it is far above that of
# the first batch.
Explained = Literal[Quantity, "scores", "rising loss"]


# How a step changes moving averages, where it does otherwise than by (1 - momentum) of a batch's mean and variance.
Formula = Literal["population variance", "population variance and epsilon", "batch average"]


@dataclass(frozen=True)
class Explanation:
    """A known difference from the other backends, from a backend's file."""

    what: Annotated[tuple[Explained, ...], Meta(min_length=1)]
    bound: Annotated[float, Meta(gt=0, le=1e308)]  # the largest difference that is explained
    reason: Text
    bound_of_loss: Annotated[float, Meta(ge=0, le=1e308)] = 0.0  # of the loss after steps, if larger than `bound`
    # Of the change of a weight in the first step of a training, relative to it; 0: it explains nothing there.
    bound_of_change: Annotated[float, Meta(ge=0, le=1e308)] = 0.0
    layer: Text = ""  # only if a layer of this class differs most; empty for all
    optimizer: Text = ""  # only of models that this optimizer trains; empty for all
    with_layer: Text = ""  # only of models that have a layer of this class; empty for all
    unlike: Texts = ()  # only from these backends or generations; empty for all
    untrained: bool = False  # only where a weight that is not trained, such as a moving average, deviates most
    as_shipped: bool = False  # only if kbench leaves the backend as it ships
    # only of models a layer of which is set to this, such as "hard_sigmoid", has it on, such as "stateful", or has
    # "uneven padding": padding "same" with strides or a window of even size
    setting: Text = ""
    repeated: bool = False  # in a step on trial, only where an input uses a row of an embedding more than once
    # In a step on trial, only of moving averages that follow this formula: see kbench/analysis/sameness/averages.py.
    formula: Formula | None = None
    carried: bool = False  # only of weights that a program carries over itself, so that nothing converts them
    fault: bool = False  # it names the cause, and the row differs all the same


def explanations(recorded: object) -> tuple[Explanation, ...]:
    """As a run's record has them, where empty text stands for what is left out; without what is none."""
    found = []
    for one in recorded if isinstance(recorded, list | tuple) else ():
        with contextlib.suppress(ValidationError):
            about = {name: value for name, value in one.items() if value} if isinstance(one, dict) else one
            found.append(convert(about, Explanation))
    return tuple(found)


Known = Annotated[
    tuple[Explanation, ...],
    Meta(
        description="[[explained]] tables with `bound` (a number above 0), `reason`, `what` (some of "
        f"{', '.join(QUANTITIES)}) and perhaps `bound_of_loss`, `layer`, `optimizer`, `with_layer` and `unlike`"
    ),
]
