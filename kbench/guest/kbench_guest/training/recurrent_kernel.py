"""Reports which kernel computes a model's recurrent layers, found while it computes outputs."""

import contextlib
import traceback
from typing import TYPE_CHECKING, Any, Iterator, Set

if TYPE_CHECKING:
    from kbench_guest.frameworks.interface import Layers
    from kbench_guest.protocol import Events


@contextlib.contextmanager
def reported(framework: "Layers", model: Any, events: "Events") -> Iterator[None]:
    """While it is open, the model computes outputs; afterwards the event is written, if the kernel is known."""
    if not framework.is_recurrent(model):
        yield
        return
    seen: Set[str] = set()
    with contextlib.ExitStack() as watching:
        try:
            seen = watching.enter_context(framework.kernels_seen(model))
        except Exception:  # of a framework of another version: the model can be measured without
            traceback.print_exc()
        yield
    try:
        found = sorted(seen | framework.kernels_compiled(model)) or [framework.default_kernel(model)]
    except Exception:
        traceback.print_exc()
        return
    if any(found):
        events.write("recurrent", recurrent_kernel=", ".join(found))
