"""What a plan says about a user's program: what it needs beside the backends, and what it asks for in vain."""

from __future__ import annotations

import re
from pathlib import Path

from kbench.planning.request import Script


def lines(script: Script) -> list[str]:
    """Its packages, those that kbench has in versions of its own, and the Python that it asks for."""
    packages = script.kept()["packages"]
    found = [f"  packages   {', '.join(packages)}"] if packages else []
    if script.left_out:
        found.append(f"  not added  {', '.join(script.left_out)}: kbench's own Keras and frameworks are used")
    if script.requires_python:
        found.append(f"  asks for   Python {script.requires_python}; kbench takes each backend's (--python: another)")
    return found


def of_example(file: Path) -> list[str]:
    """That a file with an example's function, which trains and runs nothing by itself, has another command."""
    text = file.read_text("utf-8", errors="replace") if file.suffix == ".py" else ""
    if not re.search(r"^def build_model\b", text, re.MULTILINE) or re.search(
        r"\.(fit|predict|evaluate|train_)", text
    ):
        return []
    return [f"  note       {file.name} is an example, which runs nothing by itself: --examples {file} measures it"]
