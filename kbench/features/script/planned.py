"""What a plan says about a user's program: what it needs beside the backends, and what it asks for in vain."""

from __future__ import annotations

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
