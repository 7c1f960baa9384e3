"""Asks addresses whether they answer: all at the same time, and a host that does not answer once in a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from urllib.parse import urlsplit

# Seconds to connect, and to wait for an answer; and for all together, since looking up a name has no limit itself.
TIMEOUT = (2.0, 3.0)
AT_MOST = 6.0
_NOT_ANSWERED_TO_HEAD = (405, 501)  # by a server that knows only GET

_silent: dict[str, str] = {}  # host -> why nothing comes from there


def forget() -> None:
    """Ask all hosts again: another run begins, and the network may be back."""
    _silent.clear()


def silent(address: str) -> str:
    """Why the address's host did not answer before; empty if it did or was not asked."""
    return _silent.get(urlsplit(address).netloc, "")


def remember(address: str, error: Exception) -> str:
    """Why nothing came, in words; a host without a connection is not asked again."""
    import requests

    host = urlsplit(address).hostname
    if not isinstance(error, requests.ConnectionError | requests.Timeout):
        return f"what came from {host} broke off: {type(error).__name__}"
    plain = type(error) in (requests.ConnectionError, requests.ConnectTimeout)
    why = f"no connection to {host}{'' if plain else f': {type(error).__name__}'}"
    _silent[urlsplit(address).netloc] = why
    return why


def ask(addresses: Iterable[str]) -> dict[str, str]:
    """Address -> why nothing can be downloaded from it; empty if it answers. Takes some seconds at most."""
    wanted = list(dict.fromkeys(addresses))
    found = {address: why for address in wanted if (why := silent(address))}
    asked: dict[str, str] = {}

    def one(address: str) -> None:
        asked[address] = _ask(address)

    # Daemons: a name that is still being looked up must not keep the process from ending.
    threads = [
        threading.Thread(target=one, args=(address,), daemon=True) for address in wanted if address not in found
    ]
    end = time.monotonic() + AT_MOST
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    late = f"no answer within {AT_MOST:g} s"
    for address in wanted:
        if address not in found and address not in asked:
            _silent[urlsplit(address).netloc] = f"{urlsplit(address).hostname} gave {late}"
    return {address: found.get(address) or asked.get(address, silent(address)) for address in wanted}


def _ask(address: str) -> str:
    import requests

    try:
        answer = requests.head(address, timeout=TIMEOUT, allow_redirects=True)
    except requests.RequestException as error:
        return remember(address, error)
    refused = answer.status_code >= 400 and answer.status_code not in _NOT_ANSWERED_TO_HEAD
    return f"{urlsplit(address).hostname} answered {answer.status_code}" if refused else ""
