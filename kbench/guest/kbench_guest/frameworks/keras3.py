"""Keras 3 on TensorFlow 2, JAX, PyTorch and OpenVINO: what each does in its own way."""

import contextlib
import functools
import inspect
import sys
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Dict, Iterator, List, Optional, Sequence, Set, Tuple

import keras
import numpy as np

from kbench_guest.arrays import leaves
from kbench_guest.device import Pending
from kbench_guest.frameworks import keras_models, recurrent, time_steps, trials
from kbench_guest.frameworks.interface import DoneOnReturn, PyTorchMixin, TensorFlow2Mixin
from kbench_guest.frameworks.layers import every_layer

if TYPE_CHECKING:
    from kbench_guest.clock import EpochClock

# Options of XLA: about two fifths of the time that it takes to compile a step.
QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


class Keras3(keras_models.KerasModels):
    """Keras 3, whatever runs below it."""

    eager = True
    supports_run_eagerly = True
    function_maker = "make_"
    file_formats: Tuple[str, ...] = (".keras", ".h5")
    kernels: Tuple[str, ...] = time_steps.HAVE_KERNELS  # the recurrent layers that a fused kernel computes on GPUs
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

    def fallbacks(self, model: Any) -> List[str]:
        eager = getattr(model, "run_eagerly", False)
        found = ["run_eagerly starts each operation of a step from Python"] if eager else []
        on_gpu = self._on_gpu(model)
        for name, has_kernel, why in time_steps.loops(model, self.kernels, on_gpu):
            if on_gpu and has_kernel:  # elsewhere its loop is compiled, and nothing faster is known
                found.append(f"{name} computes one time step after another: {why}")
        return found

    def _on_gpu(self, model: Any) -> bool:
        return bool(model.weights) and self.device(model) == "gpu"

    def transfer(self, model: Any, arrays: List[Any]) -> None:
        copied = [keras.ops.convert_to_tensor(one) for one in arrays + [np.float32(1)]]
        self.wait(model, copied)
        keras.ops.convert_to_numpy(copied[-1])

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

    def trial(self, model: Any, example: Any, device: str) -> trials.Trial:
        return trials.Keras3Trial(self, model)

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

    def constant(self, value: np.ndarray) -> Any:
        return keras.ops.convert_to_tensor(value)

    def values(self, weights: Sequence[Any]) -> List[Any]:
        return [np.array(keras.ops.convert_to_numpy(weight)) for weight in weights]


class TensorFlow2(TensorFlow2Mixin, Keras3):
    _compilations = 0

    def step_hook(self, model: Any, kind: str, wrap: Callable[..., Any]) -> None:
        super().step_hook(model, kind, wrap)
        if kind == "train":
            train_step = model.train_step

            @functools.wraps(train_step)
            def step(*args: Any, **kwargs: Any) -> Any:
                self._compilations += self.module.inside_function()  # only while it is traced
                return train_step(*args, **kwargs)

            vars(model)["train_step"] = step

    def compilations(self) -> Optional[int]:
        return self._compilations

    def device(self, model: Any) -> str:
        return "gpu" if "GPU" in model.weights[0].value.device else "cpu"

    def wait(self, model: Any, outputs: Any = None) -> None:
        if outputs is None:  # at the end of an epoch the logs have been read, which waits
            return
        if self.workers.here < self.workers.count:  # on other machines, of which it does not know
            super().wait(model, outputs)
        else:
            self.module.test.experimental.sync_devices()

    def allocator_peak_bytes(self, model: Any) -> Optional[int]:
        return self.module.config.experimental.get_memory_info("GPU:0")["peak"]


class JAX(Keras3):
    kernels = ("LSTM",)

    _compilations: Optional[int] = None  # not asked yet
    _forgotten = 0

    def forget_all(self) -> None:
        """What was compiled stays in memory, also of models that are gone: megabytes of each."""
        self._forgotten += 1
        if self._forgotten % 100 == 0:
            self.module.clear_caches()

    def compile_quickly(self) -> None:
        self.module.config.update("jax_disable_most_optimizations", True)  # a third of the time

    def _count(self, event: str, seconds: float, **more: Any) -> None:
        self._compilations += event.endswith("backend_compile_duration")

    def compilations(self) -> Optional[int]:
        if self._compilations is None:
            self._compilations = 0
            self.module.monitoring.register_event_duration_secs_listener(self._count)
        return self._compilations

    def kernels_seen(self, model: Any) -> ContextManager[Set[str]]:
        return recurrent.called(recurrent.OF_JAX)

    def default_kernel(self, model: Any) -> str:
        return "" if model.run_eagerly else recurrent.UNROLLED

    def when_run(self, ask: Callable[[], float]) -> Any:
        one = self.module.ShapeDtypeStruct((), np.float32)
        return self.module.pure_callback(lambda: np.float32(ask()), one)

    @contextlib.contextmanager
    def cheap_steps(self, model: Any) -> Iterator[None]:
        """Compiled without optimization: run eagerly, each kind of operation would be compiled alone."""
        trainer: Any = sys.modules["keras.src.backend.jax.trainer"]
        compile_ = getattr(trainer, "jit", None)
        if compile_ is not self.module.jit or self.device(model) != "cpu":
            yield
            return
        trainer.jit = functools.partial(compile_, compiler_options=QUICKLY)
        try:
            yield
        finally:
            trainer.jit = compile_

    def device(self, model: Any) -> str:
        platforms = {device.platform for device in model.weights[0].value.devices()}
        return "cpu" if platforms == {"cpu"} else "gpu"

    def wait(self, model: Any, outputs: Any = None) -> None:
        # During fit, only the outputs have the current weights. What a later step, as of a validation, has taken over
        # cannot be waited for: it is deleted, and was done when that step began.
        waited = [weight.value for weight in model.weights] if outputs is None else outputs
        arrays = self.module.tree_util.tree_leaves(waited)
        self.module.block_until_ready([one for one in arrays if not getattr(one, "is_deleted", bool)()])

    def pending(self, outputs: Any) -> Optional[Pending]:
        results, _ = outputs  # the state is handed on to the next step and can be waited for no more
        arrays = self.module.tree_util.tree_leaves(results)

        def is_done() -> bool:
            return all(array.is_ready() for array in arrays)

        return is_done, functools.partial(self.module.block_until_ready, arrays)

    def allocator_peak_bytes(self, model: Any) -> Optional[int]:
        held = [(device.memory_stats() or {}).get("peak_bytes_in_use") for device in model.weights[0].value.devices()]
        return max((one for one in held if one is not None), default=None)


class PyTorch(PyTorchMixin, Keras3):
    supports_run_eagerly = False  # it runs eagerly unless jit_compile is on
    several_steps = keras_models.KerasModels.several_steps  # Keras 3 refuses it there

    def fallbacks(self, model: Any) -> List[str]:
        if model.jit_compile:
            return []
        loops = time_steps.loops(model, self.kernels, self._on_gpu(model))
        return [f"{name} starts each operation of each time step from Python: {why}" for name, _, why in loops]

    @contextlib.contextmanager
    def random_state(self, model: Any) -> Iterator[None]:
        looks = not model._compile_loss.built
        with self.module.random.fork_rng():
            yield
        if looks:  # a fit takes a first batch to build its loss, for which PyTorch's DataLoader draws a number
            self.module.empty((), dtype=self.module.int64).random_()

    def device(self, model: Any) -> str:
        return "gpu" if model.weights[0].value.device.type == "cuda" else "cpu"


class OpenVINO(DoneOnReturn, Keras3):
    def prepare(self) -> None:
        """Make it compute in float32, as the others do: by default it takes bfloat16 if the processor has that."""
        compile_model = self.module.compile_model

        def in_float32(model: Any, device_name: str = "AUTO", config: Optional[Dict[str, Any]] = None) -> Any:
            return compile_model(model, device_name, dict(config or {}, INFERENCE_PRECISION_HINT="f32"))

        self.module.compile_model = in_float32

    def kernels_seen(self, model: Any) -> ContextManager[Set[str]]:
        return recurrent.called(recurrent.OF_OPENVINO)

    def default_kernel(self, model: Any) -> str:
        return recurrent.UNROLLED

    def device(self, model: Any) -> str:
        from keras.src.backend.openvino.core import get_device

        return "cpu" if get_device() == "CPU" else "gpu"


OTHERS = Keras3  # what serves any other backend
BACKENDS = {"tensorflow": TensorFlow2, "jax": JAX, "torch": PyTorch, "openvino": OpenVINO}
