"""`python -m kbench`: the same as the `kbench` command."""

from __future__ import annotations

import sys

from kbench.base.locales import start_in_utf8


def start() -> int:
    """Run the command line; if a package is missing, say how to install it."""
    try:
        start_in_utf8()
        from kbench.cli.main import main
    except KeyboardInterrupt:
        return 130
    except ModuleNotFoundError as error:
        if (error.name or "kbench").partition(".")[0] == "kbench":
            raise
        print(
            f"kbench: error: this Python has no {error.name}: use `python run.py` in a checkout, "
            "which brings what it needs, or install kbench with `pip install .`.",
            file=sys.stderr,
        )
        return 2
    return main()


if __name__ == "__main__":
    raise SystemExit(start())
