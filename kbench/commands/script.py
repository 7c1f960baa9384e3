"""`script`: runs a user's own Keras program on each backend; see `run`."""

from __future__ import annotations

from kbench.commands.run import main as main
