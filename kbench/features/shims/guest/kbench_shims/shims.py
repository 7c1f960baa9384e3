"""--shims: adds names and arguments of the other generation of Keras, so that a program for one runs on the other.

Each one that is used is reported, since the program then does not run quite as it was written.
"""

import functools
import importlib
import random
import sys
import types
from typing import Any, Callable, Dict, List, Optional, Sequence

from kbench_guest.frameworks import of_tensorflow2

OLD_MODULES = (
    "advanced_activations", "convolutional", "convolutional_recurrent", "core", "embeddings", "local", "merge",
    "noise", "normalization", "pooling", "recurrent", "wrappers",
)  # fmt: skip
OLD_UTILS = ("np_utils", "data_utils", "generic_utils", "vis_utils", "layer_utils")
# Keras 3 still has these modules here.
LEGACY = "keras.src.legacy.preprocessing."
LOSSES = {
    "mse": "mean_squared_error", "mae": "mean_absolute_error", "mape": "mean_absolute_percentage_error",
    "msle": "mean_squared_logarithmic_error", "kullback_leibler_divergence": "kl_divergence",
}  # fmt: skip
OPTIMIZERS = ("SGD", "RMSprop", "Adam", "Adagrad", "Adadelta", "Adamax", "Nadam")
# The arguments of Keras 2's fit_generator, evaluate_generator and predict_generator in their places.
PLACES = {
    "fit": (
        "steps_per_epoch", "epochs", "verbose", "callbacks", "validation_data", "validation_steps", "class_weight",
        "max_queue_size", "workers", "use_multiprocessing", "shuffle", "initial_epoch",
    ),
    "evaluate": ("steps", "max_queue_size", "workers", "use_multiprocessing", "verbose"),
    "predict": ("steps", "max_queue_size", "workers", "use_multiprocessing", "verbose"),
}  # fmt: skip
QUEUE = ("max_queue_size", "max_q_size", "workers", "use_multiprocessing", "pickle_safe", "nb_worker")


def begin(keras: Any) -> "Shims":
    """Add what the loaded generation of Keras lacks, once it is imported."""
    found = Shims(keras)
    found.install()
    return found


class Shims:
    """used: the names that the program has used."""

    def __init__(self, keras: Any) -> None:
        self._keras = keras
        self.used: List[str] = []

    def install(self) -> None:
        """Add what the loaded generation of Keras lacks."""
        if of_tensorflow2(self._keras):
            self._for_tensorflow2()
        elif self._keras.__version__.startswith("2."):
            self._for_old()
        else:
            self._for_new()

    def note(self) -> str:
        """What has changed the program, at its end; empty if nothing has."""
        return f"changed by --shims, which served {', '.join(self.used)}" if self.used else ""

    def _used(self, name: str) -> None:
        if name not in self.used:
            self.used.append(name)

    def _renamed(self, owner: Any, method: str, names: Dict[str, str], dropped: Sequence[str] = ()) -> None:
        """Make a method take arguments by other names too, and ignore those in `dropped`."""
        original = getattr(owner, method)

        @functools.wraps(original)
        def called(*args: Any, **kwargs: Any) -> Any:
            for old, new in names.items():
                if old in kwargs:
                    self._used(old)
                    kwargs[new] = kwargs.pop(old)
            for name in dropped:
                if kwargs.pop(name, None) is not None:
                    self._used(name)
            return original(*args, **kwargs)

        setattr(owner, method, called)

    # Keras 3 as Keras 2 was

    def _for_new(self) -> None:
        import numpy

        from kbench_shims import keras2_arguments, old_functions  # which import Keras

        keras = self._keras
        for serve in keras2_arguments.ALL:
            serve(keras, self._used)
        for name in OPTIMIZERS:
            setattr(keras.optimizers, name.lower(), keras2_arguments.named_optimizer(keras, name, self._used))
        self._given(keras.models, "Input", keras.Input)
        self._given(keras.Model, "predict_classes", _classes)
        self._given(keras.Model, "predict_proba", _probabilities)
        self._given(keras.Model, "reset_states", _reset_states)
        self._more(numpy, {"float": float, "int": int, "bool": bool, "object": object}.get)
        self._renamed(keras.Model, "fit", {"nb_epoch": "epochs"}, QUEUE)
        for method in ("fit", "evaluate", "predict"):
            setattr(keras.Model, method + "_generator", self._generator(method))
        self._old_modules()
        for name in ("text", "sequence", "image"):
            self._module("keras.preprocessing." + name, importlib.import_module(LEGACY + name))
        for short, name in LOSSES.items():
            self._given(keras.losses, short, getattr(keras.losses, name))
        self._more(keras.backend, old_functions.find)
        self._module("keras.engine", keras)
        self._module("keras.engine.topology", keras.layers)
        for name in ("LSTM", "GRU"):
            self._given(keras.layers, "CuDNN" + name, getattr(keras.layers, name))

    def _old_modules(self) -> None:
        for name in OLD_UTILS:
            self._module("keras.utils." + name, self._keras.utils)
        for name in OLD_MODULES:
            self._module("keras.layers." + name, self._keras.layers)

    def _generator(self, method: str) -> Callable[..., Any]:
        def called(model: Any, generator: Any, *args: Any, **kwargs: Any) -> Any:
            self._used(method + "_generator")
            kwargs.update(zip(PLACES[method], args))
            kwargs = {name: value for name, value in kwargs.items() if name not in QUEUE}
            if method != "fit":
                kwargs.setdefault("verbose", 0)
            return getattr(model, method)(generator, **kwargs)

        return called

    def _module(self, name: str, served: Any, find: Optional[Callable[[str], Any]] = None) -> None:
        """Make the module importable, with the contents of `served`, or what `find` gives for a name."""
        made = _Module(name, find or functools.partial(_attribute, served), self._used)
        try:
            self._more(importlib.import_module(name), made.find)
        except ImportError:
            sys.modules[name] = made
            above, _, last = name.rpartition(".")
            if not hasattr(importlib.import_module(above), last):
                setattr(importlib.import_module(above), last, made)

    def _more(self, module: Any, find: Callable[[str], Any]) -> None:
        """Make a module look up with `find` what it does not have."""
        before = getattr(module, "__getattr__", None)

        def missing(name: str) -> Any:
            found = None if name.startswith("__") else find(name)
            if found is None and before is not None:
                return before(name)
            if found is None:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            self._used(module.__name__ if module is self._keras.backend else f"{module.__name__}.{name}")
            return found

        module.__getattr__ = missing

    def _given(self, owner: Any, name: str, served: Callable[..., Any]) -> None:
        def made(*args: Any, **kwargs: Any) -> Any:
            self._used(name)
            return served(*args, **kwargs)

        setattr(owner, name, made)

    # Keras 2 of TensorFlow 2, which has something of both

    def _for_tensorflow2(self) -> None:
        from kbench_shims import new_functions  # which imports Keras

        for name in OPTIMIZERS:
            self._renamed(getattr(self._keras.optimizers, name), "__init__", {"lr": "learning_rate"})
        self._renamed(self._keras.Model, "fit", {"nb_epoch": "epochs"})
        self._old_modules()
        self._module("keras.ops", None, new_functions.find)

    # Keras 2 as Keras 3 is

    def _for_old(self) -> None:
        from kbench_shims import new_functions  # which imports Keras

        keras = self._keras
        for name in OPTIMIZERS:
            self._renamed(getattr(keras.optimizers, name), "__init__", {"learning_rate": "lr"})
        self._renamed(keras.models.Model, "compile", {}, ("jit_compile", "steps_per_execution"))
        self._module("keras.ops", None, new_functions.find)
        if not hasattr(keras.utils, "set_random_seed"):
            keras.utils.set_random_seed = self._seed

    def _seed(self, seed: int) -> None:
        import numpy

        self._used("set_random_seed")
        random.seed(seed)
        numpy.random.seed(seed)


def _probabilities(model: Any, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
    return model.predict(x, batch_size=batch_size, verbose=verbose)


def _classes(model: Any, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
    """The likeliest class of each sample."""
    found = _probabilities(model, x, batch_size, verbose)
    return found.argmax(axis=-1) if found.shape[-1] > 1 else (found > 0.5).astype("int32")


def _reset_states(model: Any) -> None:
    """The states of its recurrent layers, and of those of models within it, are zero again."""
    for layer in model.layers:
        if hasattr(layer, "layers"):
            _reset_states(layer)
        elif getattr(layer, "stateful", False):
            layer.reset_state()


def _attribute(module: Any, name: str) -> Any:
    """What a module has under this name, or None."""
    return getattr(module, name, None)


class _Module(types.ModuleType):
    """A module under an old name, with the contents of another one."""

    def __init__(self, name: str, find: Callable[[str], Any], used: Callable[[str], None]) -> None:
        super().__init__(name)
        self.__dict__.update(__path__=[], find=find, _used=used)

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("__") else self.find(name)
        if found is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        self._used(self.__name__)
        return found
