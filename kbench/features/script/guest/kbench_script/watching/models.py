"""Describes the models that a program trains or runs, each site's once, and seeds the weights of the first."""

from typing import TYPE_CHECKING, Any, Dict, List

import numpy as np

from kbench_guest.proof import weights
from kbench_script.watching import about
from kbench_script.watching.wrapping import TRAINS

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_script.watching.recorder import CallSite, Recorder

LAST_WEIGHTS = 4  # of a model: those that any training changes
ENOUGH = 64  # numbers, to know the spread of those that they are drawn from to a tenth


class Models:
    """program: the spec's part on the script."""

    def __init__(self, framework: "KerasModels", recorder: "Recorder", program: Dict[str, Any]) -> None:
        self.framework = framework
        self.recorder = recorder
        self._seed = program["seed"]
        self._unseeded = program["init"] == "seeded"  # whether the first model is still to be seeded

    def describe(
        self, site: "CallSite", model: Any, facts: Dict[str, Any], trained: bool = False, ended: bool = False
    ) -> None:
        """Write what the model of a site is, once; trained: whether it has been trained before; ended: whether the
        call has. What it returned was computed without seeded weights: the next model, or call, gets them.
        """
        if site.described:
            return
        site.described = True
        found = dict(facts, **about.model(self.framework, model))
        if self.recorder.cut:
            found["notes"] = [self.recorder.cut, *found.get("notes", ())]
        trains = site.name.split(",")[0] in TRAINS
        if self._unseeded and (trains or not ended):
            self._unseeded = False
            if trained or ended:
                text = "its first step made its weights: --init seeded gave it none"
                found["notes"] = [*found.get("notes", ()), text]
            else:
                sha256, left = weights.initialise(self.framework, model, self._seed)
                found.update(weights="seeded", weights_sha256=sha256, weights_left=left)
        if not trained and facts.get("in_order"):
            found["start_sha256"] = self.recorder.guarded(weights.sha256, self.framework, model)
        if not trained:
            found["start_spreads"] = self.recorder.guarded(_spreads, self.framework, model)
        self.recorder.describe(site, "train" if trains else "infer", found)

    def describe_to_seed(self, site: "CallSite", model: Any) -> None:
        """Do so before the first step of the first model if it has to be seeded: gradients are of those weights."""
        if self._unseeded and about.has_all_weights(model):
            self.describe(site, model, {})

    def have_values(self, model: Any) -> bool:
        """Whether its weights have got their first values."""
        shapes = [tuple(self.framework.shape_of(one)) for one in model.weights]
        return shapes == [np.shape(value) for value in self.framework.values(list(model.weights))]

    def some_weights(self, model: Any) -> List[np.ndarray]:
        """Copies of the last weights that it trains."""
        last = list(getattr(model, "trainable_weights", ()))[-LAST_WEIGHTS:]
        return [np.array(value) for value in self.framework.values(last)]


def _spreads(framework: "KerasModels", model: Any) -> Dict[str, float]:
    """The standard deviations of its larger matrices, such as {"GRU 2": 0.1, "GRU 2 (weight 2)": 0.2}."""
    return {
        f"{name} (weight {number})" if number > 1 else name: float(np.std(value))
        for name, values in weights.by_layer(framework.weights(model))
        for number, value in enumerate(values, 1)
        if np.ndim(value) > 1 and np.size(value) >= ENOUGH
    }
