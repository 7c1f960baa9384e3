"""The files that the how-tos give to copy: a workflow of GitHub Actions, a Dockerfile, a backend."""

from __future__ import annotations

import re

import yaml
from documentation_commands import CHECKOUT

from kbench.cli import arguments
from kbench.selection import backends

DOCS = CHECKOUT / "docs"


def typed(text: str) -> list[list[str]]:
    """The commands of kbench in a shell's script, without its redirections."""
    found = re.findall(r"python run\.py (.+?)(?: [2]?>.*)?$", text, re.MULTILINE)
    return [
        line.replace('"', "").replace("$BACKENDS", "jax,torch").replace("$PROGRAM", "train.py").split()
        for line in found
    ]


def test_the_workflow_measures_both_sides_and_fails_above_its_limit() -> None:
    text = (DOCS / "ci" / "kbench.yml").read_text("utf-8")
    workflow = yaml.safe_load(text)
    (job,) = workflow["jobs"].values()
    assert workflow[True] == "pull_request"  # YAML 1.1 takes `on` for true
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    measured, compared = (arguments.parse(words) for words in typed(text))
    assert (measured.command, measured.repeats, measured.backends) == ("script", 5, "jax,torch")
    assert (compared.command, compared.fail_above, compared.format) == ("compare", 1.1, "markdown")
    comment = next(step for step in job["steps"] if step.get("name") == "Comment")
    assert "always()" in comment["if"] and "head.repo.full_name == github.repository" in comment["if"]
    assert text.count("# yours") == 3


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
