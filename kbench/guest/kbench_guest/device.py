"""Where a framework computes: what the clock and the reports of memory and threads ask of it."""

import traceback
from typing import Any, Callable, Dict, Optional, Tuple

# Of a step: whether its work is done, and what returns when it is.
Pending = Tuple[Callable[[], bool], Callable[[], Any]]


class Device:
    """Where a model computes, when it is done, and what it holds there."""

    def device(self, model: Any) -> str:
        """'cpu', 'gpu' or 'unknown': where the model's weights are, or its operations run."""
        return "unknown"

    def wait(self, model: Any, outputs: Any = None) -> None:
        """Return when all work on the device is done, so that the clock can be read.

        outputs: what the model's function has just returned, while fit is still under way.
        """
        raise NotImplementedError

    def pending(self, outputs: Any) -> Optional[Pending]:
        """(is_done, wait) of the step that gave these outputs; None if the step is done already.

        is_done() says whether its work on the device is done; wait() returns when it is, and waits for no later
        work. Raises NotImplementedError if the framework cannot say.
        """
        raise NotImplementedError

    def step_hook(self, model: Any, kind: str, wrap: Callable[..., Any]) -> None:
        """Let training ('train') or prediction ('predict') call wrap(function) in place of its compiled function."""
        raise NotImplementedError

    def allocator_peak_mib(self, model: Any) -> Optional[float]:
        """Peak memory of the framework's own allocator on the model's GPU, in MiB; None on the CPU, or if unknown."""
        try:
            peak = self.allocator_peak_bytes(model) if self.device(model) == "gpu" else None
        except Exception:  # everything is measured by then: the cell must not fail
            traceback.print_exc()
            return None
        return None if peak is None else peak / 2.0**20

    def allocator_peak_bytes(self, model: Any) -> Optional[int]:
        """The same in bytes, of a model on a GPU; may raise anything."""
        return None

    def threads(self) -> Dict[str, Any]:
        """{name of a setting: its value} as the framework holds it; 0 is its own choice. May raise anything."""
        return {}
