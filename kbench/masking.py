"""Masks passwords and tokens in what is kept with results and shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

MASK = "***"
# By whole words: --max-tokens, --author and TOKENIZERS_PARALLELISM are none.
_SECRET_NAME = re.compile(
    r"(?i)(.*[^a-z])?((api|access|auth|private|secret)?key|[a-z]*(token|secret|password|passwd|passphrase)"
    r"|credentials?|auth|authorization|cookie|pwd|signature)"
)
_PASSWORD = re.compile(r"(://)[^/\s]+@")
_NAME = re.compile(r"""(?<![\w.])([A-Za-z][\w.-]{0,99})["']?\s*[=:]\s*["']?""")
_VALUE = re.compile(r"""[^\s"',&;{}]+""")
_BEARER = re.compile(r"(?i)\b(bearer|basic)(\s+)[^\s\"']+")


def is_secret(name: str) -> bool:
    """Whether a variable, option or key of this name seems to be a secret."""
    return len(name) <= 100 and _SECRET_NAME.fullmatch(name) is not None


def without_passwords(text: str) -> str:
    """`text` with *** for the user and password in each address."""
    return _PASSWORD.sub(rf"\1{MASK}@", text)


def masked_arguments(arguments: Sequence[str]) -> tuple[str, ...]:
    """Arguments of a program with *** for what seems to be a secret: of `--api-key X`, `TOKEN=X`, `https://X@host`."""
    masked, is_value = [], False
    for one in arguments:
        masked.append(MASK if is_value and not one.startswith("--") else _masked(one))
        is_value = one.startswith("-") and is_secret(one)
    return tuple(masked)


def masked_variables(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables, with *** for secrets."""
    return {name: MASK if is_secret(name) else without_passwords(value) for name, value in variables.items()}


def _masked(argument: str) -> str:
    """`argument` with *** for the values of secret names in it, such as in NAME=VALUE, JSON or an address."""
    text = _BEARER.sub(rf"\1\2{MASK}", without_passwords(argument))
    masked, end = "", 0
    for name in _NAME.finditer(text):
        value = _VALUE.match(text, name.end())
        if value and name.start() >= end and is_secret(name[1]):
            masked, end = f"{masked}{text[end : name.end()]}{MASK}", value.end()
    return masked + text[end:]
