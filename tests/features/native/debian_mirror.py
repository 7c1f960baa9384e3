"""Test helper: Debian packages made for the test, and mirrors on this machine that have them."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import http.server
import io
import tarfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

MODULE = "./usr/lib/python3/dist-packages/tiny"
FILES = {f"{MODULE}/__init__.py": "NAME = 'of Debian'\n", "./usr/share/doc/tiny/README": "left out\n"}
LIBRARY = {"./usr/lib/x86_64-linux-gnu/libtiny.so.1.0": "", "./lib/x86_64-linux-gnu/libold.so.1": ""}
LINKS = {"./usr/lib/x86_64-linux-gnu/libtiny.so.1": "libtiny.so.1.0"}


def deb(path: Path, files: Mapping[str, str], links: Mapping[str, str] | None = None) -> str:
    """Writes a package with these files and symbolic links; returns its line of a lock file below `pool/`."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
        for name, target in (links or {}).items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    parts = {"debian-binary": b"2.0\n", "control.tar.xz": b"", "data.tar.xz": data.getvalue()}
    content = b"!<arch>\n"
    for name, part in parts.items():
        content += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(part):<10}`\n".encode() + part
        content += b"\n" * (len(part) % 2)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return f"{hashlib.sha256(content).hexdigest()}  pool/{path.name.replace('+', '%2b')}\n"


def packages(mirror: Path) -> str:
    """Writes two packages into the mirror's folder; returns the lock file for them."""
    lines = deb(mirror / "pool/python3-tiny_1.0+git1-8_all.deb", FILES)
    return lines + deb(mirror / "pool/libtiny1_1.0-8_amd64.deb", LIBRARY, LINKS)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, and says nothing."""

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address at which a server on this machine has the folder."""
    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
