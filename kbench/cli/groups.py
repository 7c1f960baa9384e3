"""Groups of options that several commands have, in the order of their help."""

from __future__ import annotations

from kbench.records import asked

WHAT, NUMBERS, MORE = f"@{asked.WHAT}", f"@{asked.NUMBERS}", f"@{asked.MORE}"  # the options of axes that stand here
SELECTION = ("--backends", WHAT, "--python", "--examples")
OF_CELLS = ("--timeout", "--memory-limit", "--pass-env")
SHOWN = ("--format", "--columns")
# With a title of their own.
OVERRIDES = ("override the profile and the example", ("--epochs", NUMBERS, "--seed", "--seeds", "--augment"))
HOW_OFTEN = ("how often each cell is measured", ("--repeats", "--precision", "--budget", "--interleave"))
