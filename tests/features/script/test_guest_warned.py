"""Which warnings a program gets are told: those that are shown, of Python and of its framework's logger."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

from guest_modules import guest


def test_warnings_that_are_shown_are_told_and_still_shown(tmp_path: Path) -> None:
    told: list[str] = []
    shown: list[str] = []
    logger = logging.getLogger("tensorflow")
    before = [*logger.handlers]
    try:
        with guest(tmp_path, "kbench_script.hosting.warned") as (warned,), warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = lambda message, *_: shown.append(str(message))
            warned.Warned(told.append).watch()
            warnings.warn("Your input ran out of data", stacklevel=1)
            warnings.warn("of another age", DeprecationWarning, stacklevel=1)
            logger.warning("traced %d times", 3)
            logger.info("all is well")
            logger.warning("The name tf.x is deprecated")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                warnings.warn("that the program hides", stacklevel=1)
    finally:
        logger.handlers = before
    assert told == ["Your input ran out of data", "traced 3 times"]
    assert shown == ["Your input ran out of data", "of another age"]
