"""Keras 3, whatever runs below it; what a framework does in its own way is in a file for it, `keras3_NAME.py`."""

import contextlib
import functools
import inspect
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Sequence, Tuple

import keras
import numpy as np

from kbench_guest.arrays import leaves
from kbench_guest.frameworks import keras_models
from kbench_guest.frameworks.layers import every_layer
from kbench_guest.frameworks.trials import Trial
from kbench_guest.frameworks.trials_of_keras3 import Keras3Trial

if TYPE_CHECKING:
    from kbench_guest.clock import EpochClock


class Keras3(keras_models.KerasModels):
    eager = True
    supports_run_eagerly = True
    function_maker = "make_"
    # In RMSprop it divides by sqrt(v + epsilon), Keras 2 by sqrt(v) + epsilon.
    epsilon_under_root = True
    _listed: Any = None  # the callbacks of all epochs; the first of them is kbench's clock

    def train_epoch(
        self, model: Any, epoch: int, given: Dict[str, Any], clock: "EpochClock", callbacks: List[Any]
    ) -> Dict[str, float]:
        """All epochs have one list of callbacks, as in a script's single fit, whose threads stay.

        A fit with a list of its own starts up to six threads in its first steps: 2 to 6 ms of an epoch on JAX.
        """
        if self._listed is None:
            timed = keras.callbacks.LambdaCallback()
            self._listed = keras.callbacks.CallbackList([timed] + callbacks, add_history=True, model=model)
            self._listed.on_train_begin()  # it is never ended: what each fit begins and ends is within it
        timed = self._listed.callbacks[0]
        timed.on_epoch_begin, timed.on_epoch_end = clock.begin, clock.finish
        numbers = {"epochs": epoch, "initial_epoch": epoch - 1, "verbose": 0}
        self._listed.set_params({"verbose": 0, "epochs": epoch, "steps": self._steps_of(given)})
        history = self.fit(model, callbacks=self._listed, **dict(given, **numbers))
        return {name: float(values[-1]) for name, values in history.history.items()}

    @staticmethod
    def _steps_of(given: Dict[str, Any]) -> int:
        """The batches of an epoch with these arguments of fit."""
        if "steps_per_epoch" in given:
            return int(given["steps_per_epoch"])
        return -(-len(leaves(given["x"])[0]) // given["batch_size"])

    def seed(self, number: int) -> None:
        np.random.seed(number)
        keras.utils.set_random_seed(number)

    def make_optimizer(self, class_name: str, rate: Any, decay: float, settings: Dict[str, Any]) -> Any:
        if decay:
            rate = self.optimizers().schedules.InverseTimeDecay(rate, decay_steps=1, decay_rate=decay)
        return getattr(self.optimizers(), class_name)(learning_rate=rate, **settings)

    def optimizers(self) -> Any:
        """The module that has them and their schedules."""
        return keras.optimizers

    def initial_learning_rate(self, config: Dict[str, Any]) -> Tuple[Any, Any]:
        rate = config.pop("learning_rate", None)
        config.pop("name", None)
        if not config.get("use_ema"):
            for name in [name for name in config if "ema_" in name]:
                del config[name]
        schedule = rate.get("config") if isinstance(rate, dict) else None
        if not schedule or rate["class_name"] != "InverseTimeDecay" or schedule.get("staircase"):
            return rate, None
        # As `make_optimizer` makes it.
        return schedule["initial_learning_rate"], schedule["decay_rate"] / schedule["decay_steps"]

    def optimizer_config(self, optimizer: Any) -> Dict[str, Any]:
        schedule = getattr(optimizer, "_learning_rate", None)
        if not isinstance(schedule, self.optimizers().schedules.LearningRateSchedule):
            return optimizer.get_config()
        # A user's own schedule may have no configuration, which it needs for nothing but to be saved.
        optimizer._learning_rate = 0.0
        try:
            config = optimizer.get_config()
        finally:
            optimizer._learning_rate = schedule
        settings = {}
        with contextlib.suppress(NotImplementedError):
            settings = schedule.get_config()
        return dict(config, learning_rate={"class_name": schedule.__class__.__name__, "config": settings})

    def set_policy(self, policy: str) -> None:
        keras.config.set_dtype_policy(policy)

    def set_jit(self, model: Any, on: bool) -> None:
        model.jit_compile = on

    def settings_of_model(self, model: Any) -> Dict[str, Any]:
        found = {layer.compute_dtype for layer in every_layer(model)}
        return {"jit": "on" if model.jit_compile else "off", "computes_in": sorted(found)}

    def several_steps(self, number: int) -> Dict[str, Any]:
        return {"steps_per_execution": number}

    def unusual(self, model: Any, spec: Dict[str, Any]) -> List[str]:
        by_itself = getattr(model, "_resolve_auto_jit_compile", None)
        if spec["jit"] or by_itself is None or model.run_eagerly or model.jit_compile == by_itself():
            return []
        own, of_keras = ("off", "on") if by_itself() else ("on", "off")
        return [f"its file turned jit_compile {own}, which Keras would have {of_keras} here"]

    def steps_of_a_call(self, model: Any) -> int:
        return int(getattr(model, "steps_per_execution", 1) or 1)

    holds_metrics = "_compile_metrics"  # the attribute of a model that holds those that it was compiled with

    def metrics_of(self, model: Any) -> Any:
        compiled = getattr(model, self.holds_metrics, None)
        asked = [getattr(compiled, name, None) for name in ("_user_metrics", "_user_weighted_metrics")]
        return asked[0] or [] if not asked[1] else asked

    @contextlib.contextmanager
    def data_of_fit(self, see: Callable[[Dict[str, Any]], None]) -> Iterator[None]:
        made = self.made_by_fit()
        if made is None:
            yield
            return
        original = made.__init__

        @functools.wraps(original)
        def init(*args: Any, **kwargs: Any) -> None:
            given = inspect.getcallargs(original, *args, **kwargs)
            see(given)
            original(**given)

        made.__init__ = init
        try:
            yield
        finally:
            made.__init__ = original

    def made_by_fit(self) -> Any:
        """The class of which each backend's fit makes one for its data; None if this version has none."""
        try:
            from keras.src.trainers.epoch_iterator import EpochIterator
        except ImportError:
            return None
        return EpochIterator

    def trial(self, model: Any, example: Any, device: str) -> Trial:
        return Keras3Trial(self, model)

    @contextlib.contextmanager
    def random_state(self, model: Any) -> Iterator[None]:
        """A context for a model's first step, after which its training draws the numbers that it would have drawn."""
        yield

    def when_run(self, ask: Callable[[], float]) -> Any:
        """The number that ask() returns when a step runs, for code that may be traced before."""
        return ask()

    @contextlib.contextmanager
    def cheap_steps(self, model: Any) -> Iterator[None]:
        """A context in which the first step of a model takes the least time."""
        model.run_eagerly = True
        yield

    def build_by_calling(self, model: Any, inputs: Any) -> None:
        model(inputs)

    def evaluate(self, model: Any, x: Any, y: Any, **given: Any) -> Dict[str, float]:
        found = model.evaluate(x, y, verbose=0, return_dict=True, **given)
        return {name: float(value) for name, value in found.items()}

    def shape_of(self, weight: Any) -> Tuple[Any, ...]:
        return tuple(weight.shape)

    def dtype_of(self, weight: Any) -> str:
        return str(weight.dtype)

    def set_values(self, weights: Any, values: Any) -> None:
        for weight, value in zip(weights, values):
            weight.assign(value)

    def values(self, weights: Sequence[Any]) -> List[Any]:
        return [np.array(keras.ops.convert_to_numpy(weight)) for weight in weights]


INTERFACE = Keras3  # what serves a backend without a file of its own
