"""Groups of options that several commands have, in the order of their help."""

from __future__ import annotations

from kbench.records import asked

WHAT, NUMBERS, MORE = f"@{asked.WHAT}", f"@{asked.NUMBERS}", f"@{asked.MORE}"  # the options of axes that stand here
SELECTION = ("--backends", WHAT, "--python", "--channel", "--examples")
OF_CELLS = ("--timeout", "--memory-limit", "--pass-env")
SHOWN = ("--format", "--columns", "--sort", "--export")
# With a title of their own.
OVERRIDES = (
    "override the profile and the example",
    ("--epochs", NUMBERS, "--seed", "--seeds", "--init", "--augment"),
)
VARIANTS = (
    "measure each backend in several versions or settings (for one backend: NAME@0.9 or NAME+jit=off in --backends)",
    (f"@{asked.VARIANTS}",),
)
HOW_OFTEN = ("how often each cell is measured", ("--repeats", "--precision", "--budget", "--interleave"))
DATA = ("data", ("--data", "--data-dir"))
DETAIL = ("", ("--quiet", "--verbose"))  # without a title: one or the other
