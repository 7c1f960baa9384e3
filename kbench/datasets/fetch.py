"""Finds a published file in the user's folder or the cache, or downloads it."""

from __future__ import annotations

import logging
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

from filelock import FileLock

from kbench.datasets import archives
from kbench.datasets.registry import File
from kbench.errors import UserError

# Seconds to connect and between two packets: without internet it should fail quickly.
TIMEOUT = (4.0, 30.0)
CHUNK = 256 * 1024


def locate(file: File, mirror: Path | None, folder: Path) -> Path | None:
    """The path of `file` in the mirror folder, or else in `folder`, the cache's; None if it is in neither."""
    for place in (mirror, folder):
        if place is not None and (place / file.name).is_file():
            return place / file.name
    return None


def obtain(file: File, mirror: Path | None, folder: Path, *, dataset: str, progress: bool) -> Path:
    """The path of `file`, downloaded into `folder` if needed. Raises UserError, which says what to put where."""
    found = locate(file, mirror, folder)
    if found is not None:
        return found
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Two processes that want the same file download it once.
        with FileLock(folder / f".{file.name}.lock"):
            return locate(file, mirror, folder) or _download(file, folder, dataset=dataset, progress=progress)
    except OSError as error:
        raise UserError(
            f"{file.name} cannot be written to {folder} ({error.strerror or error}): free space there, or "
            "name another cache folder by KBENCH_CACHE"
        ) from error


def renew(file: File, path: Path, folder: Path, *, dataset: str, progress: bool) -> None:
    """Downloads `file` again if `path` in the cache's `folder` is damaged. Raises UserError."""
    if path.parent != folder or not file.addresses:
        return
    with FileLock(folder / f".{file.name}.lock"):
        try:
            archives.verify(path, file)  # another process may have renewed it
        except archives.Damaged:
            _download(file, folder, dataset=dataset, progress=progress)


def _download(file: File, folder: Path, *, dataset: str, progress: bool) -> Path:
    # Imported late: this takes a quarter of a second.
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.WARNING)  # the progress bar is enough
    downloader = pooch.HTTPDownloader(progressbar=progress, chunk_size=CHUNK, timeout=TIMEOUT)
    why = "it is published at no address"
    partial = folder / f".{file.name}.partial"  # we hold the lock, so a leftover is from a killed process
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(mode=0o700)
    try:
        for address in file.addresses:
            if progress:
                print(f"downloading {address}", file=sys.stderr)
            try:
                known_hash = file.digest or file.download_digest or None
                pooch.retrieve(address, known_hash, file.name, partial, downloader=downloader)
                archives.verify(partial / file.name, file)
            except requests.HTTPError as error:
                why = f"the server answered {error.response.status_code if error.response is not None else error}"
            except requests.RequestException as error:
                why = f"no connection to {urlsplit(address).hostname}: {type(error).__name__}"
            except (ValueError, UserError):
                why = "the server sent another file than the published one"
                (partial / file.name).unlink(missing_ok=True)
            else:
                (partial / file.name).chmod(0o644)  # temporary files are for one user, a cache may be shared
                return (partial / file.name).replace(folder / file.name)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    origin = f" from {' or '.join(file.addresses)}" if file.addresses else ""
    raise UserError(
        f"{dataset} needs {file.name}, which could not be downloaded ({why}): put it{origin} into {folder} "
        "or into a folder named by --data-dir or KBENCH_DATA, or use --data synthetic, which needs none"
    )
