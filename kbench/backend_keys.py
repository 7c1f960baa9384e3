"""What the keys of a backend's file can say, and how that is described to somebody who wrote something else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

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
Layout = Annotated[
    Literal["channels_first", "channels_last"], Meta(description="channels_first or channels_last")
]
