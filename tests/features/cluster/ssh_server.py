"""Test helper: an SSH server for one key on this machine: `python ssh_server.py FOLDER`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import asyncssh


async def serve(folder: Path) -> None:
    """Write the keys, FOLDER/known_hosts and FOLDER/port; run the commands of who has the key."""
    server_key, user_key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    user_key.write_private_key(folder / "id")
    (folder / "id").chmod(0o600)
    user_key.write_public_key(folder / "authorized")
    server = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=[server_key],
        authorized_client_keys=str(folder / "authorized"),
        process_factory=run,
        encoding=None,
    )
    port = server.get_port()
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {server_key.export_public_key().decode()}")
    (folder / "port").write_text(str(port))
    await asyncio.Event().wait()


async def run(process: asyncssh.SSHServerProcess[bytes]) -> None:
    """Run one command in a shell, and pass on what it prints until it ends."""
    started = await asyncio.create_subprocess_shell(
        (process.command or "").strip(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert started.stdout and started.stderr
    await asyncio.gather(_copy(started.stdout, process.stdout), _copy(started.stderr, process.stderr))
    process.exit(await started.wait())


async def _copy(output: asyncio.StreamReader, to: asyncssh.SSHWriter[bytes]) -> None:
    while some := await output.read(1 << 16):
        to.write(some)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
