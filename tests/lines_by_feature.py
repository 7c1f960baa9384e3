"""Prints how many lines of kbench/ are the core's and each feature's: one of the checks of `run.py test --lint`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

KBENCH = Path(__file__).resolve().parent.parent / "kbench"


def counted() -> dict[str, int]:
    """Lines of Python: the core's, its guest's, then each feature's with its part of the guest."""
    found = Counter({"core, host": 0, "core, guest": 0})
    for file in sorted(KBENCH.rglob("*.py")):
        first, *rest = file.relative_to(KBENCH).parts
        of = "core, guest" if first == "guest" else "core, host"
        if first == "features" and len(rest) > 1:
            of = f"feature {rest[0]}"
        found[of] += len(file.read_bytes().splitlines())
    return dict(found)


if __name__ == "__main__":
    lines = counted()
    for name, number in [*lines.items(), ("all", sum(lines.values()))]:
        print(f"{name:20} {number:7,}")
