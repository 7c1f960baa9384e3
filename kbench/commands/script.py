"""`script`: run a user's own Keras program, as it is, on each backend."""

from __future__ import annotations

from kbench.commands.run import main as main
