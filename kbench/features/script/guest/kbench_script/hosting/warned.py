"""What a program is warned of while it runs: by Python's warnings, and by the loggers of its framework."""

import logging
import warnings
from typing import Any, Callable

# Of the framework's own age, not of what the program does.
OUTDATED = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning, ResourceWarning)
LOGGERS = ("tensorflow", "absl")  # which print warnings past Python's
MOST = 20


class Warned:
    """Hands each new warning on, as it is shown. say: called with its text."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._left = MOST

    def watch(self) -> None:
        """From now on, and for ever."""
        shown = warnings.showwarning

        def show(message: Any, category: Any, *args: Any, **kwargs: Any) -> None:
            if not issubclass(category, OUTDATED):
                self._tell(str(message))
            shown(message, category, *args, **kwargs)

        warnings.showwarning = show
        handler = logging.Handler(logging.WARNING)
        handler.emit = lambda record: self._tell(record.getMessage())  # type: ignore[method-assign]
        for name in LOGGERS:
            if name in logging.root.manager.loggerDict:  # absl makes its own, of another class
                logging.getLogger(name).addHandler(handler)

    def _tell(self, text: str) -> None:
        if self._left and "deprecated" not in text:
            self._left -= 1
            self._say(text)
