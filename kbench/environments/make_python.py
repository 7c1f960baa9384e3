"""Installs a Python from conda packages with py-rattler. Runs as a separate program.

Mirrors, proxies and certificates are those of pixi's configuration (https://pixi.sh/latest/reference/pixi_configuration).
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from pathlib import Path
from typing import Any

LOCK = "kbench-packages.txt"
CONFIGURED = "pixi"  # whose configuration is read


async def make(channel: str, version: str, folder: Path, cache: Path) -> None:
    """Solve, install into `folder`, and write the list of packages with hashes there."""
    rattle: Any = importlib.import_module("rattler")
    config = rattle.Config.load_from_default_locations(CONFIGURED)
    client = rattle.Client.from_config(config)
    records = await rattle.solve(
        [channel],
        [f"python {version}.*"],
        gateway=rattle.Gateway(client=client),
        platforms=["linux-64", "noarch"],
        virtual_packages=rattle.VirtualPackage.detect(),
    )
    await rattle.install(
        records, folder, cache_dir=cache, show_progress=False, client=client, execute_link_scripts=False
    )
    lines = [f"{record.url}#sha256:{record.sha256.hex()}" for record in records]
    (folder / LOCK).write_text("\n".join(["@EXPLICIT", *sorted(lines), ""]), encoding="utf-8")


if __name__ == "__main__":
    tools, channel, version, folder, cache = sys.argv[1:]
    sys.path.insert(0, tools)
    try:
        asyncio.run(make(channel, version, Path(folder), Path(cache)))
    except Exception as error:  # of the network, the channel, the disk
        print(f"error: {' '.join(str(error).split()) or type(error).__name__}", file=sys.stderr)
        sys.exit(1)
    os._exit(0)  # py-rattler's threads can crash an interpreter that is shutting down
