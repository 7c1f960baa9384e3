"""Keras 2 on TensorFlow 1, CNTK, Theano and MXNet: what each does in its own way."""

import copy
import functools
import os
import re
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

import keras
import numpy as np
from keras import backend as K

from kbench_guest.frameworks import keras_models, recurrent, theano_headers, trials
from kbench_guest.frameworks.interface import DoneOnReturn, MXNetMixin
from kbench_guest.protocol import Refused

CONVOLUTIONS = ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "Conv3DTranspose", "ConvLSTM2DCell", "ConvLSTM2D")
KERNELS = ("kernel", "recurrent_kernel")


class Keras2(keras_models.KerasModels):
    """Keras 2, whatever runs below it."""

    function_maker = "_make_"

    def seed(self, number: int) -> None:
        np.random.seed(number)  # Keras 2 seeds its dropout layers from numpy
        self.seed_backend(number)

    def seed_backend(self, number: int) -> None:
        pass

    def make_optimizer(self, class_name: str, rate: Any, decay: float, settings: Dict[str, Any]) -> Any:
        settings = dict(settings)
        if "clipnorm" in settings:
            raise Refused("unsupported", "Keras 2 cannot clip each gradient's norm alone; global_clipnorm clips all")
        if "global_clipnorm" in settings:  # Keras 2's own clipnorm
            settings["clipnorm"] = settings.pop("global_clipnorm")
        return getattr(keras.optimizers, class_name)(lr=rate, decay=decay, **settings)

    def initial_learning_rate(self, config: Dict[str, Any]) -> Tuple[Any, Any]:
        if "clipnorm" in config:
            config["global_clipnorm"] = config.pop("clipnorm")
        return config.pop("lr", None), config.get("decay", 0.0)

    def order_updates(self, made: Any) -> None:
        """Make an optimizer compute the loss and all gradients before any weight changes, and count the step last.

        TensorFlow 1 does not order these by itself: a gradient or a regularizer's loss may be computed with a kernel
        of the next step, and Adam may begin with step 2. TensorFlow's own optimizers order gradients (gate_gradients
        of tf.train.Optimizer).
        """
        import tensorflow

        gradients, updates = made.get_gradients, made.get_updates

        def get_gradients(loss: Any, params: Any) -> Any:
            return tensorflow.tuple([*gradients(loss, params), loss])[:-1]

        def get_updates(loss: Any, params: Any) -> Any:
            _, *others = updates(loss=loss, params=params)  # the first one counts the step
            with tensorflow.control_dependencies(others):
                counted = K.update_add(made.iterations, 1)
            made.updates = [counted] + others
            return made.updates

        made.get_gradients, made.get_updates = get_gradients, get_updates

    def trial(self, model: Any, example: Any, device: str) -> trials.Trial:
        return trials.Keras2Trial(self, model, example, device)

    def one_number(self, rank: int) -> Any:
        """A variable of one number, for products with tensors that have so many axes."""
        return K.variable(0.0)

    def optimizer_on_trial(self, model: Any) -> Any:
        """The model's optimizer, which makes slots of its own for each training function."""
        return model.optimizer

    def rates(self, optimizer: Any) -> List[Any]:
        """The variables that callbacks set."""
        rate = getattr(optimizer, "lr", 0.0)
        return [] if isinstance(rate, float) else [rate]

    def optimizer_variables(self, optimizer: Any) -> List[Any]:
        """All variables that a step changes besides the weights."""
        return [optimizer.iterations] + list(optimizer.weights)

    def restart_optimizer(self, tried: Any) -> None:
        """Called before each step: put back what is in no variable."""

    def end_trial(self, model: Any) -> None:
        """Called when another model with its weights has trained for the last time."""

    def forget_all(self) -> None:
        if hasattr(K, "clear_session"):  # that is, on TensorFlow
            K.clear_session()

    def constant(self, value: Any) -> Any:
        return K.variable(value, dtype=str(value.dtype))

    def evaluated(self, tensor: Any) -> np.ndarray:
        return np.asarray(K.eval(tensor) if not isinstance(tensor, (int, float, np.ndarray)) else tensor)

    def build_by_calling(self, model: Any, inputs: Any) -> None:
        model._set_inputs(inputs)

    def data_of_step(self, model: Any, args: Tuple[Any, ...]) -> Optional[Tuple[Any, Any, Any]]:
        given = [one for one in args[0] if hasattr(one, "shape")]  # not the learning phase
        inputs = len(getattr(model, "_feed_inputs", None) or given[:1])
        targets = inputs + len(getattr(model, "_feed_targets", None) or given[1:2])
        return given[:inputs], given[inputs:targets], given[targets:]

    def validation_hook(self, model: Any, wrap: Callable[..., Any]) -> None:
        for kind in ("test", "predict"):
            self.step_hook(model, kind, wrap)

    def fit(self, model: Any, generator: Any = None, **given: Any) -> Any:
        # fit_generator makes batches ahead in one thread, which keeps their order.
        return model.fit(**given) if generator is None else model.fit_generator(generator, **given)

    def shape_of(self, weight: Any) -> Tuple[Any, ...]:
        return K.int_shape(weight)

    def dtype_of(self, weight: Any) -> str:
        return str(K.dtype(weight))

    def set_values(self, weights: Any, values: Any) -> None:
        # In TensorFlow 1 one call for all is a hundred times quicker.
        K.batch_set_value(list(zip(weights, values)))

    def values(self, weights: Sequence[Any]) -> List[Any]:
        return [np.array(value) for value in K.batch_get_value(list(weights))]


class TensorFlow1(DoneOnReturn, Keras2):
    """Its session returns when the work is done."""

    def order_of_updates(self, ordered: bool) -> str:
        return "in order" if ordered else "in no fixed order"

    def seed_backend(self, number: int) -> None:
        self.module.set_random_seed(number)

    def device(self, model: Any) -> str:
        gpu = any(device.device_type == "GPU" for device in K.get_session().list_devices())
        return "gpu" if gpu and self.module.test.is_built_with_cuda() else "cpu"

    def optimizer_variables(self, optimizer: Any) -> List[Any]:
        # Of moving averages that are corrected for their start at zero: the sum of each, and its number of steps.
        # A layer that is called again has others, with a number.
        own = re.compile(r"/(biased|local_step)(_\d+)?:0$")
        averages = [one for one in self.module.global_variables() if own.search(one.name)]
        return super().optimizer_variables(optimizer) + averages

    def kernels_compiled(self, model: Any) -> Set[str]:
        kinds = {operation.type for operation in K.get_session().graph.get_operations()}
        return recurrent.of_operations(kinds) or {recurrent.UNROLLED}

    def allocator_peak_bytes(self, model: Any) -> Optional[int]:
        with self.module.device("/gpu:0"):
            peak = self.module.contrib.memory_stats.MaxBytesInUse()
        return int(K.get_session().run(peak))

    def threads(self) -> Dict[str, Any]:
        from keras.backend import tensorflow_backend

        if tensorflow_backend._SESSION is None:  # what Keras will give it
            return {"intra_op": int(os.environ.get("OMP_NUM_THREADS") or 0), "inter_op": 0}
        held = tensorflow_backend._SESSION._config
        return {"intra_op": held.intra_op_parallelism_threads, "inter_op": held.inter_op_parallelism_threads}


class CNTK(DoneOnReturn, Keras2):
    def correct_normalization(self) -> None:
        """In training Keras hands BatchNormalization's epsilon on as the axis, which is ignored: it stays 0.001."""
        from keras.backend import cntk_backend

        shipped = cntk_backend.batch_normalization

        def batch_normalization(x: Any, mean: Any, var: Any, beta: Any, gamma: Any, epsilon: float) -> Any:
            return shipped(x, mean, var, beta, gamma, epsilon=epsilon)

        cntk_backend.batch_normalization = batch_normalization  # which only normalize_batch_in_training finds there

    def seed_backend(self, number: int) -> None:
        self.module.cntk_py.set_fixed_random_seed(number)

    def device(self, model: Any) -> str:
        device = self.module.device
        return "cpu" if device.use_default_device().type() == device.DeviceKind.CPU else "gpu"

    def kernels_compiled(self, model: Any) -> Set[str]:
        return recurrent.of_cntk(model.outputs)


class Theano(DoneOnReturn, Keras2):
    """Its convolutions flip the kernel."""

    def prepare(self) -> None:
        import theano

        for flag in theano.config.gcc.cxxflags.split():
            if flag.startswith("-I") and not os.path.isdir(flag[2:]):
                from theano.gof import cmodule

                flags = cmodule.GCC_compiler.compile_args()
                theano_headers.make(flag[2:], theano.config.cxx, flags, cmodule.std_include_dirs())

    def device(self, model: Any) -> str:
        return "cpu" if self.module.config.device.startswith("cpu") else "gpu"

    def kernels_compiled(self, model: Any) -> Set[str]:
        return recurrent.of_theano(model.predict_function.function)

    def threads(self) -> Dict[str, Any]:
        # Results are made to be published: the user's home folder is not named.
        flags = str(self.module.config.blas.ldflags).replace(os.path.expanduser("~"), "~")
        return {"openmp": bool(self.module.config.openmp), "blas": flags}

    def to_shared(self, owner: Any, name: Optional[str], value: Any) -> Any:
        if not _is_kernel(owner, name):
            return value
        return value[tuple([slice(None, None, -1)] * (value.ndim - 2))]

    from_shared = to_shared  # twice flipped is not flipped


class MXNet(MXNetMixin, Keras2):
    """keras-mxnet has kernels as (filters, inputs, rows, columns) where images are channels_first."""

    # In RMSprop it divides by sqrt(v + epsilon), as Keras 3 does.
    epsilon_under_root = True

    def correct_normalization(self) -> None:
        """As Keras calls MXNet's own layer, it takes gamma for 1 and never trains it."""
        from keras.layers import BatchNormalization

        shipped, symbol, batch_norm = BatchNormalization.call, self.module.sym, self.module.sym.BatchNorm

        def call(layer: Any, *args: Any, **given: Any) -> Any:
            symbol.BatchNorm = functools.partial(batch_norm, fix_gamma=not layer.scale)
            return shipped(layer, *args, **given)

        BatchNormalization.call = call

    def seed_backend(self, number: int) -> None:
        self.module.random.seed(number)

    def device(self, model: Any) -> str:
        contexts = getattr(model, "_context", None) or []
        if not contexts:  # a model that is not compiled runs where MXNet puts it
            contexts = [self.module.gpu(0) if self.module.context.num_gpus() else self.module.cpu()]
        return contexts[0].device_type

    def kernels_compiled(self, model: Any) -> Set[str]:
        return recurrent.of_mxnet([output.symbol for output in model.outputs])

    def compile_options(self, device: str) -> Dict[str, Any]:
        if self.workers.contexts:
            return {"context": list(self.workers.contexts)}
        return {"context": ["gpu(0)"]} if device == "gpu" else {}  # the one GPU that the host lets this process see

    def make_optimizer(self, class_name: str, rate: Any, decay: float, settings: Dict[str, Any]) -> Any:
        if "global_clipnorm" in settings:
            raise Refused(
                "unsupported", "keras-mxnet's clipnorm clips each number of a gradient, not the norm of all"
            )
        return super().make_optimizer(class_name, rate, decay, settings)

    def one_number(self, rank: int) -> Any:
        return K.variable(np.zeros((1,) * rank))  # it has no scalars

    def optimizer_on_trial(self, model: Any) -> Any:
        copied = copy.deepcopy(model.optimizer)  # it counts steps in itself
        self._count_anew(copied)
        return copied

    @staticmethod
    def _count_anew(optimizer: Any) -> None:
        optimizer._index_update_count.clear()
        optimizer.num_update = optimizer.begin_num_update

    def updates(self, model: Any) -> Optional[int]:
        return int(model.optimizer.num_update)

    def optimizer_variables(self, optimizer: Any) -> List[Any]:
        return []

    def restart_optimizer(self, tried: Any) -> None:
        if self.workers.count > 1:  # a KVStore has weights and slots of its own, which a new binding makes anew
            tried._sync_weights()
            tried._module._reset_bind()
            tried._module.optimizer_initialized = tried._module.params_initialized = False
            self._count_anew(tried.optimizer)
            return
        module = getattr(tried._module, "_curr_module", None)
        if module is not None and module.optimizer_initialized:
            module._updater.states.clear()
            self._count_anew(module._updater.optimizer)

    def set_values(self, weights: Any, values: Any) -> None:
        super().set_values(weights, values)
        self.values(weights)  # or the next compile takes the moving averages from before

    def values(self, weights: Sequence[Any]) -> List[Any]:
        self.module.nd.waitall()  # it does not wait for moving averages, which the backward pass writes
        return super().values(weights)

    def values_of(self, model: Any) -> List[Any]:
        self._set_model(model)  # it reads what the last model that was compiled has trained
        return super().values_of(model)

    def end_trial(self, model: Any) -> None:
        """Copy the weights back to where the model takes them from, and be asked for them there again."""
        self.values(model.weights)
        self._set_model(model)

    @staticmethod
    def _set_model(model: Any) -> None:
        from keras.backend import mxnet_backend

        mxnet_backend.set_model(model)

    def shared_shape(self, owner: Any, name: Optional[str], shape: Any) -> Tuple[Any, ...]:
        return tuple(shape[axis] for axis in self._axes(owner, name, len(shape)))

    def to_shared(self, owner: Any, name: Optional[str], value: Any) -> Any:
        return value.transpose(self._axes(owner, name, value.ndim))

    def from_shared(self, owner: Any, name: Optional[str], value: Any) -> Any:
        return value.transpose(np.argsort(self._axes(owner, name, value.ndim)))

    def _axes(self, owner: Any, name: Optional[str], rank: int) -> Tuple[int, ...]:
        """Which of the backend's axes comes first, second, ... in the shared layout."""
        if name == "depthwise_kernel" and owner.data_format == "channels_first":
            return (2, 3, 0, 1)
        filters_first = _is_kernel(owner, name) and owner.data_format == "channels_first"
        return tuple(range(2, rank)) + (1, 0) if filters_first else tuple(range(rank))


def _is_kernel(owner: Any, name: Optional[str]) -> bool:
    return owner.__class__.__name__ in CONVOLUTIONS and name in KERNELS


OTHERS = Keras2  # what serves any other backend
BACKENDS = {"tensorflow": TensorFlow1, "cntk": CNTK, "theano": Theano, "mxnet": MXNet}
