"""The files that the how-tos give to copy: a Dockerfile, a backend."""

from __future__ import annotations

import re

from documentation_commands import CHECKOUT

from kbench.selection import backends

DOCS = CHECKOUT / "docs"


def test_the_dockerfile_keeps_the_cache_in_its_volume_and_starts_kbench() -> None:
    lines = (DOCS / "docker" / "Dockerfile").read_text("utf-8").splitlines()
    assert {"ENV KBENCH_CACHE=/cache", "VOLUME /cache", 'ENTRYPOINT ["python", "run.py"]'} <= {*lines}
    (base,) = (line for line in lines if line.startswith("FROM"))
    (version,) = re.findall(r"python:3\.(\d+)-", base)
    assert int(version) >= 10


def test_the_framework_to_copy_is_a_backend_with_a_twin() -> None:
    folder = DOCS / "my_backends"
    assert [(name, one.kind) for name, one in backends.load_all(folder).items()] == [("native/tinygrad", "native")]
    assert (folder / "native" / "tinygrad" / "mnist_mlp.py").is_file()
