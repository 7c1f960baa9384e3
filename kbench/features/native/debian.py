"""Downloads Debian packages and unpacks their libraries, without root. Runs as a separate program.

Nothing of a package is run. Its files for other purposes than loading it, such as documentation, are left out.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import arpy
import pooch
import requests

if TYPE_CHECKING or sys.version_info >= (3, 11, 4):
    import tarfile
else:  # the releases before, of which Debian 12 has one, unpack to wherever an archive wants
    from backports import tarfile

MIRROR = "KBENCH_DEBIAN_MIRROR"  # asked before those of apt
CONFIGURED = ["apt-get", "indextargets", "--format", "$(REPO_URI)"]
AT_ONCE = 8
SECONDS = (4.0, 30.0)  # to connect, and between two packets
KEPT = ("./lib/", "./usr/lib/")
HTTP = ("http://", "https://")
LINE = re.compile(r"(?P<sha256>[0-9a-f]{64})  (?P<path>pool/\S+\.deb)")


class Failed(Exception):
    """A package cannot be had. The text says why."""


def mirrors() -> list[str]:
    """The user's mirror and those of this machine's apt, if there are any. Raises Failed."""
    named = [os.environ[MIRROR]] if os.environ.get(MIRROR) else []
    if not all(address.startswith(HTTP) for address in named):
        raise Failed(f"{MIRROR} is {named[0][:80]!r}, which is not an http:// or https:// address")
    try:
        done = subprocess.run(CONFIGURED, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return named
    return named + [address for address in done.stdout.split() if address.startswith(HTTP)]


def install(lock: Path, folder: Path, mirrors: Iterable[str]) -> None:
    """Unpack the packages of `lock` into `folder`, from one mirror after the other until none is missing.

    A mirror that fails is left for the next one, and is asked once more after the others. Raises Failed.
    """
    wanted = [parsed(line) for line in lock.read_text(encoding="utf-8").splitlines() if line]
    why = Failed("no mirror of Debian is known")
    with tempfile.TemporaryDirectory(dir=folder) as arrived:
        for mirror in [*mirrors] * 2:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                jobs = {pool.submit(fetch, mirror, *package, Path(arrived)): package for package in wanted}
                try:
                    for job in as_completed(jobs):
                        unpack(job.result(), folder)
                        wanted.remove(jobs[job])
                    return
                except Failed as error:
                    print(error)  # for the log
                    why = error
                finally:
                    pool.shutdown(cancel_futures=True)
    raise Failed(f"{why}; set {MIRROR} to a mirror of Debian")


def parsed(line: str) -> tuple[str, str]:
    """The hash and the path below a mirror, of a line of the lock file. Raises Failed."""
    match = LINE.fullmatch(line)
    if match is None:
        raise Failed(f"its lock file of Debian is damaged: {line[:50]!r} in it is not a hash and a path")
    return match["sha256"], match["path"]


def fetch(mirror: str, sha256: str, path: str, folder: Path) -> Path:
    """The downloaded package. Raises Failed."""
    host, name = urlsplit(mirror).hostname, Path(path).name
    downloader = pooch.HTTPDownloader(timeout=SECONDS)
    try:
        address = f"{mirror.rstrip('/')}/{path}"
        return Path(pooch.retrieve(address, f"sha256:{sha256}", name, folder, downloader=downloader))
    except requests.HTTPError as error:
        answer = error.response.status_code if error.response is not None else error
        raise Failed(f"{host} answered {answer} when asked for {name}") from None
    except requests.RequestException as error:
        raise Failed(f"no connection to {host}: {type(error).__name__}") from None
    except ValueError:
        raise Failed(f"{host} sent another {name} than the locked one") from None


def unpack(package: Path, folder: Path) -> None:
    """Unpack a package's libraries into `folder`, and delete the package. A path out of the folder is refused."""
    with arpy.Archive(str(package)) as parts:
        (data,) = [name for name in parts.namelist() if name.startswith(b"data.tar")]
        with tarfile.open(fileobj=parts.open(data)) as archive:
            archive.extractall(folder, filter=kept)
    package.unlink()


def kept(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
    return tarfile.data_filter(member, folder) if member.name.startswith(KEPT) else None


def main(lock: str, folder: str) -> str | None:
    """Returns an error for the log, or None."""
    try:
        Path(folder).mkdir()
        install(Path(lock), Path(folder), dict.fromkeys(mirrors()))
    except (Failed, OSError, tarfile.TarError, arpy.ArchiveFormatError) as error:
        return f"error: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
