"""Shows an exception as Python does, without the frames of kbench that the program ran through."""

import os
import sys
import traceback
import types
from typing import Optional, Type

import kbench_guest

_GUEST = os.path.dirname(os.path.dirname(os.path.abspath(kbench_guest.__file__)))
# The core's package, and those of features.
GUEST = tuple(os.path.join(os.path.dirname(_GUEST), name, "") for name in ("guest", "features"))


def show_error(kind: Type[BaseException], error: BaseException, trace: Optional[types.TracebackType]) -> None:
    """What sys.excepthook does. One of the program's own is called with all frames."""
    if sys.excepthook is not sys.__excepthook__:
        sys.excepthook(kind, error, trace)
        return
    shown = traceback.TracebackException(kind, error, trace)
    _leave_out(shown)
    sys.stderr.write("".join(shown.format()))


def _leave_out(shown: traceback.TracebackException) -> None:
    """Take kbench's frames, and those of the import system between them, out of an exception and its causes."""
    if any(frame.filename.startswith(GUEST) for frame in shown.stack):
        kept = [one for one in shown.stack if not one.filename.startswith(GUEST + ("<frozen importlib",))]
        shown.stack[:] = kept
    for cause in (shown.__cause__, shown.__context__):
        if cause is not None:
            _leave_out(cause)


def own_frames(trace: Optional[types.TracebackType]) -> Optional[types.TracebackType]:
    """The traceback without kbench's frames at its beginning."""
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(GUEST):
        trace = trace.tb_next
    return trace
