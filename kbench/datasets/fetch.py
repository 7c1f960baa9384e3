"""Finds a published file in the user's folder or the cache, or downloads it."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from urllib.parse import urlsplit

from filelock import FileLock

from kbench.base.whole_folders import scratch
from kbench.datasets import addresses, archives
from kbench.datasets.registry import RemoteFile
from kbench.errors import UserError

# Seconds to connect and between two packets: without internet it should fail quickly.
TIMEOUT = (4.0, 30.0)
CHUNK = 256 * 1024


def locate(file: RemoteFile, mirror: Path | None, folder: Path) -> Path | None:
    """The path of `file` in the mirror folder, or else in `folder`, the cache's; None if it is in neither."""
    for place in (mirror, folder):
        if place is not None and (place / file.name).is_file():
            return place / file.name
    return None


class NotDownloaded(Exception):
    """Why a file could not be downloaded, as a part of a sentence."""


def obtain(file: RemoteFile, mirror: Path | None, folder: Path, *, progress: bool) -> Path:
    """The path of `file`, downloaded into `folder` if needed. Raises NotDownloaded, or UserError on a full disk."""
    found = locate(file, mirror, folder)
    if found is not None:
        return found
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Two processes that want the same file download it once.
        with FileLock(folder / f".{file.name}.lock"):
            return locate(file, mirror, folder) or _download(file, folder, progress=progress)
    except OSError as error:
        raise UserError(
            f"{file.name} cannot be written to {folder} ({error.strerror or error}): free space there, or "
            "name another cache folder by KBENCH_CACHE"
        ) from error


def renew(file: RemoteFile, path: Path, folder: Path, *, progress: bool) -> None:
    """Downloads `file` again if `path` in the cache's `folder` is damaged. Raises NotDownloaded."""
    if path.parent != folder or not file.addresses:
        return
    with FileLock(folder / f".{file.name}.lock"):
        try:
            archives.verify(path, file)  # another process may have renewed it
        except archives.Damaged:
            _download(file, folder, progress=progress)


def _download(file: RemoteFile, folder: Path, *, progress: bool) -> Path:
    # Imported late: this takes a quarter of a second.
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.WARNING)  # the progress bar is enough
    downloader = pooch.HTTPDownloader(progressbar=progress, chunk_size=CHUNK, timeout=TIMEOUT)
    whys = dict[str, None]() if file.addresses else {"no address to download it from is known": None}
    with scratch(folder / f".{file.name}.partial", 0o700) as partial:
        for address in file.addresses:
            if silent := addresses.silent(address):
                whys[silent] = None
                continue
            if progress:
                print(f"downloading {address}", file=sys.stderr)
            try:
                known_hash = file.digest or file.download_digest or None
                pooch.retrieve(address, known_hash, file.name, partial, downloader=downloader)
                archives.verify(partial / file.name, file)
            except requests.HTTPError as error:
                answer = error.response.status_code if error.response is not None else error
                whys[f"{urlsplit(address).hostname} answered {answer}"] = None
            except requests.RequestException as error:
                whys[addresses.remember(address, error)] = None
            except (ValueError, UserError):
                whys[f"{urlsplit(address).hostname} sent another file than the published one"] = None
                (partial / file.name).unlink(missing_ok=True)
            else:
                (partial / file.name).chmod(0o644)  # temporary files are for one user, a cache may be shared
                return (partial / file.name).replace(folder / file.name)
    raise NotDownloaded(", ".join(whys))
