"""What the keys of a backend's file can say, and how that is described to somebody who wrote something else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from msgspec import Meta

PLACEHOLDERS = ("env", "cache", "example", "threads", "threads_from_2", "python_lib", "inherited")
_KNOWN = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
Text = Annotated[str, Meta(pattern=r"\A[^\n]*\S[^\n]*\Z", description="a text of one line")]
Texts = Annotated[tuple[Text, ...], Meta(description="a list of texts")]
Table = Annotated[Mapping[str, Text], Meta(description="a table of texts")]
Filled = Annotated[str, Meta(pattern=rf"\A([^{{}}\n]|\{{({'|'.join(PLACEHOLDERS)})\}})+\Z")]
Variables = Annotated[
    Mapping[str, Filled], Meta(description=f"a table of texts with no other placeholders than {_KNOWN}")
]
Flag = Annotated[bool, Meta(description="true or false")]
Layout = Annotated[Literal["channels_first", "channels_last"], Meta(description="channels_first or channels_last")]

# What the backends are compared in, in the order of the table.
Quantity = Literal["outputs", "layers", "loss", "1 step", "10 steps"]
QUANTITIES = get_args(Quantity)


@dataclass(frozen=True)
class Explanation:
    """A difference from the other backends that is known and understood; read from a backend's file."""

    what: Annotated[tuple[Quantity, ...], Meta(min_length=1)]
    bound: Annotated[float, Meta(gt=0, le=1e308)]  # up to so much; a larger one is not explained
    reason: Text
    layer: Text = ""  # only where a layer of this class differs most; empty for all
    optimizer: Text = ""  # only of models that this optimizer trains; empty for all
    with_layer: Text = ""  # only of models that have a layer of this class; empty for all
    unlike: Texts = ()  # only from these backends or generations; empty for all
    as_shipped: bool = False  # only where kbench leaves the backend as it ships
