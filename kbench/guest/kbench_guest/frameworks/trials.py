"""Steps on trial: a model trains on a batch through Keras's own training function, and is then as it was before.

The random numbers of its layers are fixed ones, so that the step is the same on every backend. At level 0 dropout
drops nothing and noise is its mean. At level 1 both are factors and amounts that depend on their settings alone:
another rate, or a dropout in another place, then gives another step.
"""

import contextlib
import random
import tempfile
from typing import Any, Callable, Dict, Iterable, Iterator, List, Tuple

import numpy as np

MOST_NUMBERS = 10**8  # of a state that is put away: 400 MB
# A number drawn from 0 to 1: what most dropouts of a user's own keep, and then what most of them drop.
DRAWN = (0.99, 0.29)


class Trial:
    """asked: grows when a layer asks for a random number. model: what trains, with the weights of that on trial."""

    level = 0.0

    def __init__(self, framework: Any, model: Any) -> None:
        self._framework, self.model = framework, model
        self.asked: List[str] = []
        # id of a variable -> (the variable, its value before the first step)
        self._state: Dict[int, Tuple[Any, Any]] = {}
        self._away: Any = None  # the file that has the values meanwhile

    def put_away(self) -> bool:
        """Keep the state in a file, and no longer in memory; returns whether it is small enough for that.

        `steps` takes it back, so that the first step can be taken again. It is not where the disk is full, either.
        """
        if sum(np.size(value) for _, value in self._state.values()) > MOST_NUMBERS:
            return False
        away = tempfile.TemporaryFile()  # noqa: SIM115  # until training has ended
        try:
            for _, value in self._state.values():
                np.save(away, value)
        except OSError:
            away.close()
            return False
        self._away = away
        self._state = {place: (variable, None) for place, (variable, _) in self._state.items()}
        return True

    def _take_back(self) -> None:
        if self._away is not None:
            self._away.seek(0)
            for place, (variable, _) in self._state.items():
                self._state[place] = variable, np.load(self._away)
            self._away.close()
            self._away = None

    def _keep(self, variables: Iterable[Any]) -> None:
        self._take_back()
        new = [variable for variable in variables if id(variable) not in self._state]
        for variable, value in zip(new, self._framework.values(new)):
            self._state[id(variable)] = (variable, value)

    def notes(self) -> List[str]:
        """Sentences on what was made equal for the step, and is not in training."""
        return []

    def restart(self, level: float) -> None:
        """Everything but random states is as before the first step; what is random is fixed at this level."""
        self.level = level
        kept = list(self._state.values())
        self._framework.set_values([variable for variable, _ in kept], [value for _, value in kept])
        if getattr(self.model, "stateful", False):  # in Keras 2, whose weights are without the states
            self.model.reset_states()
        if hasattr(self.model, "reset_metrics"):  # Keras 3 before 3.15 adds up what `train_on_batch` reports
            self.model.reset_metrics()


@contextlib.contextmanager
def random_states() -> Iterator[None]:
    """A context after which Python's and numpy's random states are as before."""
    of_python, of_numpy = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)


@contextlib.contextmanager
def replaced(module: Any, functions: Dict[str, Callable[..., Any]]) -> Iterator[None]:
    """A context in which the module or class has these functions, as far as it has such ones."""
    own = {name: getattr(module, name) for name in functions if hasattr(module, name)}
    for name in own:
        setattr(module, name, functions[name])
    try:
        yield
    finally:
        for name, function in own.items():
            setattr(module, name, function)
