"""Looks into the first training of a user's program, and ends the program there."""

from typing import Any, Callable, Dict

from kbench_explain import inside
from kbench_guest.protocol import Refused
from kbench_guest.training.feeding import Batch
from kbench_parity import captured
from kbench_parity.program import FirstModel
from kbench_script.batches import first_batches
from kbench_script.watching.wrapping import site_name


class FirstTraining(FirstModel):
    """Waits for the program's first call that trains a model."""

    def _runs(self, method: str, original: Callable[..., Any]) -> Callable[..., Any]:
        return original

    def finish(self) -> bool:
        return self.done

    def _compare(self, model: Any, method: str, given: Dict[str, Any]) -> None:
        if not method.startswith("fit"):
            raise Refused("unsupported", "its first training does not call fit, so its steps cannot be timed")
        site = site_name(method, self._files)
        ((x, y, weight),) = first_batches(method, given, 1)
        class_weights = {"class_weight": given["class_weight"]} if given.get("class_weight") else {}
        batch = Batch(x, y, weight, captured.names(model, x))
        inside.look(self._framework, model, batch, class_weights, self._spec, self._events, site)
