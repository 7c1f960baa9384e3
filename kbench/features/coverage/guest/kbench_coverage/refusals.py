"""A case that is to be refused: whether it is, and whether Keras itself refuses it, not what it is built on."""

import linecache
import os
import sys
from typing import Any, Callable, Dict, List

from kbench_guest.protocol import in_a_line

MOST = 300  # characters of an error


def outcome(names: List[str], call: Callable[[str], Any]) -> Dict[str, Any]:
    """The fields of its event: call(name) computes it of these inputs, of which the first that are taken count."""
    import keras

    refused = {}  # type: Dict[str, str]
    found = {"refused": refused, "validated": []}  # type: Dict[str, Any]
    filtering = getattr(getattr(keras, "config", None), "is_traceback_filtering_enabled", bool)()
    if filtering:
        keras.config.disable_traceback_filtering()
    try:
        for name in names:
            try:
                call(name)
                return dict(found, inputs=name)
            except (Exception, SystemExit) as error:
                refused[name] = in_a_line(error)[:MOST]
                found["validated"] += [name] * is_of_keras(error)
    finally:
        if filtering:
            keras.config.enable_traceback_filtering()
    return found


def is_of_keras(error: BaseException) -> bool:
    """Whether a `raise` in Keras says that a value or a type is wrong."""
    import keras

    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not isinstance(error, (ValueError, TypeError)):
        return False
    file = trace.tb_frame.f_code.co_filename
    folder = os.path.dirname(sys.modules[keras.__name__].__file__ or "")
    is_raised = linecache.getline(file, trace.tb_lineno).strip().startswith("raise")
    return is_raised and os.path.abspath(file).startswith(os.path.abspath(folder) + os.sep)
