"""Checks of what a run's files say: names, the machine, personal data and secrets."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Mapping

from kbench.base.masking import MASK, is_secret, without_passwords
from kbench.features.collection.submitted import Submitted, is_plain
from kbench.machine import provenance
from kbench.store.files import loads

_PERSONAL = {
    "a user's name in a path": re.compile(r"(?:/home/|/Users/|[A-Za-z]:\\+Users\\+)(?!\*)[\w.-]+"),
    "an e-mail address": re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}\b"),
    "a host's name": re.compile(r"\bip-\d+-\d+-\d+-\d+\b|\b[\w-]+\.(?:lan|corp|intranet|localdomain)\b"),
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
}
_OF_HOST = re.compile(r'"(?:host_?name|node_?name|user_?name|user|login)": "(?!\*|")')
_CHARACTERS = 6  # of this machine's own name, to look for it: shorter ones are words


def names(run: Submitted) -> Iterator[str]:
    """Names of the run, its examples and backends have no markup."""
    cells = {name for one in run.cells for name in (one.cell.example, one.cell.backend, one.cell.image_data_format)}
    for name in sorted({run.name, *run.run.examples, *run.run.backends, *cells}):
        if not is_plain(name):
            yield f"{name[:60]!r} is no plain name"


def machine(run: Submitted) -> Iterator[str]:
    """Processor, cores, memory and system are described."""
    about = run.run.provenance
    system = about.get("system")
    known = {
        "its processor": provenance.processor(about),
        "its cores": provenance.cores(about),
        "its memory": about.get("memory_mib"),
        "its kernel": isinstance(system, Mapping) and system.get("kernel"),
        "its backends' packages": about.get("environments"),
    }
    for what, value in known.items():
        if not value:
            yield f"{what} {'are' if what.endswith('s') and what != 'its processor' else 'is'} not described"
    if provenance.gpu_names(about) in ("", "none") and any(one.cell.device != "cpu" for one in run.ok):
        yield "its GPUs are not described"


def personal(run: Submitted) -> Iterator[str]:
    """No file has a user's, a host's or an e-mail address's name."""
    own = socket.gethostname()
    for file, text in run.texts.items():
        for what, pattern in _PERSONAL.items():
            if match := pattern.search(f"{file}\n{text}"):
                yield f"{file} has {what}: {_shortened(match[0])}"
        if _OF_HOST.search(text):
            yield f"{file} has the name of a user or a host"
        if len(own) >= _CHARACTERS and re.search(rf"\b{re.escape(own)}\b", text):
            yield f"{file} has this machine's name"


def secrets(run: Submitted) -> Iterator[str]:
    """No file has a token or a password."""
    for file, text in run.texts.items():
        if without_passwords(text) != text:
            yield f"{file} has a token, or an address with a password"
        elif file.endswith(("run.json", "spec.json")) and (name := _secret(loads(text.encode()))):
            yield f"{file} has a value for {name}"


def _secret(value: object, name: str = "") -> str:
    """The first name of a secret that has a value; empty if there is none."""
    if isinstance(value, str):
        return name if value not in ("", MASK) and is_secret(name) else ""
    if isinstance(value, Mapping):
        return next(filter(None, (_secret(of, str(key)) for key, of in value.items())), "")
    return next(filter(None, (_secret(of, name) for of in value)), "") if isinstance(value, list) else ""


def _shortened(text: str) -> str:
    """Enough to find it by; an answer is published, too."""
    return f"{text[:10]}..." if len(text) > 10 else text
