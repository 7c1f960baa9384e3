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
# What services give out, by how it begins: OpenAI and Anthropic, GitHub, GitLab, Hugging Face, AWS, Slack, Google,
# PyPI, npm, and JSON web tokens.
_TOKEN = re.compile(
    r"(?<![A-Za-z0-9_-])(sk-((ant|proj|admin|svcacct|or)-[\w-]{20,}|\w{20,})|gh[opsur]_\w{20,}"
    r"|github_pat_\w{20,}|glpat-[\w-]{20,}|hf_[A-Za-z0-9]{20,}|(AKIA|ASIA)[A-Z0-9]{16}(?!\w)|xox[a-z]-[\w-]{10,}|AIza[\w-]{35}"
    r"|pypi-[\w-]{20,}|npm_[A-Za-z0-9]{30,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+)"
)
_NO_PASSWORD = re.compile(r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?|.*/.*|-.*", re.DOTALL)  # a number, a path, an option
_NAME = re.compile(r"""(?<![\w.])([A-Za-z][\w.-]{0,99})["']?\s*[=:]\s*["']?""")
_VALUE = re.compile(r"""[^\s"',&;{}]+""")
_BEARER = re.compile(r"(?i)\b(bearer|basic)(\s+)[^\s\"']+")


def is_secret(name: str) -> bool:
    """Whether a variable, option or key of this name seems to be a secret."""
    return len(name) <= 100 and _SECRET_NAME.fullmatch(name) is not None


def without_passwords(text: str) -> str:
    """`text` with *** for the user and password in each address, and for tokens of known services."""
    return _TOKEN.sub(MASK, _PASSWORD.sub(rf"\1{MASK}@", text))


def masked_arguments(arguments: Sequence[str]) -> tuple[str, ...]:
    """Arguments of a program with *** for what seems to be a secret: of `--api-key X`, `-p X`, `TOKEN=X`,
    `https://X@host`, `ghp_X`.
    """
    masked, is_value, may_be = [], False, False
    for one in arguments:
        secret = (is_value and not one.startswith("--")) or (may_be and not _NO_PASSWORD.fullmatch(one))
        masked.append(MASK if secret else _masked(one))
        is_value, may_be = one.startswith("-") and is_secret(one), one == "-p"
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
