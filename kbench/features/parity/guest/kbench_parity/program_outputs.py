"""Parity of a user's program that trains nothing: what each line that predicts or evaluates computes.

Its first batch and its weights are as the program has them. The first backend keeps them in a file; where another one
has other weights for that line, such as random ones, it is given those of the first.
"""

import os
from typing import TYPE_CHECKING, Any, Dict, List, Tuple

from kbench_guest.proof import weights
from kbench_guest.protocol import Refused, in_a_line
from kbench_guest.training.feeding import Batch
from kbench_parity import captured, computing
from kbench_parity.files import OfSite
from kbench_script.watching import about
from kbench_script.watching.returned import ReturnedValues

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_guest.protocol import Events

MOST_SITES = 20


class Sites:
    """The lines of the program that run a model, with what is needed to compare them once it has ended."""

    def __init__(self, framework: "KerasModels", spec: Dict[str, Any], events: "Events") -> None:
        self._framework = framework
        self._spec = spec
        self._events = events
        self._returned = ReturnedValues(framework, None)
        self._kept: List[Tuple[Any, ...]] = []

    def keep(self, site: str, model: Any, x: Any, size: Any) -> None:
        """The first call of a line is over."""
        if len(self._kept) >= MOST_SITES or any(site == kept[0] for kept in self._kept):
            return
        batch = self._returned.first_rows(x, size)
        if batch is not None:
            self._kept.append((site, model, batch, model.get_weights(), self._returned.weights(model)))

    def compare(self) -> bool:
        """Compute and write all of them; returns whether there are any."""
        for number, kept in enumerate(self._kept, 1):
            try:
                self._compare(number, *kept)
            except (NotImplementedError, Refused) as error:
                text = str(error) if isinstance(error, Refused) else in_a_line(error)
                self._events.write("parity", stage=f"call_{number}", site=kept[0], refused=text)
        return bool(self._kept)

    def _compare(
        self, number: int, site: str, model: Any, batch: Any, own: List[Any], described: List[Dict[str, Any]]
    ) -> None:
        framework, notes = self._framework, []
        path = captured.path_in(self._spec, f".{number}")
        model.set_weights(own)  # the program may have changed them since
        facts = {name: value for name, value in about.model(framework, model).items() if name == "layers"}
        first = captured.read(path) if os.path.exists(path) else None
        carried = False
        if first is None:
            description = {"backend": self._spec["backend"], "facts": facts, "described": described}
            captured.write(path, description, framework.weights(model), [[batch]])
        else:
            notes += captured.differences(facts, first["facts"], first["backend"])
            batch = first["batches"][0][0]
            same, carried = _compared(described, first["described"])
            if not same:
                weights.replay(framework, model, first["weights"], first["backend"])
                notes.append(f"it is given the weights of {first['backend']}, as its own are others")
        case = computing.Case(
            model=model, batch=lambda _: Batch(batch, None, None, captured.names(model, batch)), predicts=True,
            loss=None, channels_first=False, compile=None, optimizer="", train=None,
        )  # fmt: skip
        stage = f"call_{number}"
        folder = os.path.join(os.path.dirname(self._spec["events"]), stage)
        os.makedirs(folder, exist_ok=True)
        more = {"stage": stage, "site": site, "carried": int(carried), "notes": notes, "described": facts}
        computing.compute(
            framework, case, dict(self._spec, events=os.path.join(folder, "")), OfSite(self._events, more)
        )


def _compared(own: List[Dict[str, Any]], others: List[Dict[str, Any]]) -> Tuple[bool, bool]:
    """(whether both are of the same weights, whether these are the same numbers and mean something else)."""
    kept = [[one[name] for one in own] == [other[name] for other in others] for name in ("sha256", "shared")]
    return any(kept), kept[0] and not kept[1]
