"""Decodes a file's contents by the types of a value's fields. An error names the key and what it must be."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_type_hints

import msgspec

T = TypeVar("T")


class Wrong(Exception):
    """The value of `key` is not what it must be: `wanted`, in words. It may be missing."""

    def __init__(self, kind: type, key: str, missing: bool = False, inner: str = "") -> None:
        super().__init__(key)
        self.inner = inner  # the name within it that is missing, unknown or has another value; "" if none is known
        self.key = key
        self.missing = missing
        metadata = getattr(get_type_hints(kind, include_extras=True)[key], "__metadata__", ())
        self.wanted = next((meta.description for meta in reversed(metadata) if meta.description), "another value")


def decode(raw: Mapping[str, Any], kind: type[T], convert: Callable[[type, object], object] | None = None) -> T:
    """The table `raw` as a `kind`; `convert` converts to types that TOML does not have. Raises Wrong."""
    try:
        return msgspec.convert(raw, kind, dec_hook=convert)
    except msgspec.ValidationError as error:
        missing = re.match(r"Object missing required field `(\w+)`$", str(error))
        found = missing or re.search(r"`\$\.(\w+)", str(error))
        assert found is not None, error
        inner = None if missing else re.search(r"field `(\w+)`|\.\w+\S*\.(\w+)`$", str(error))
        raise Wrong(kind, found[1], missing is not None, (inner[1] or inner[2]) if inner else "") from None
