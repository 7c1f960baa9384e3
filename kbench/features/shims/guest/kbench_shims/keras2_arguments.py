"""What programs for Keras 2 end with, on Keras 3: names of scores, arguments of layers, optimizers and callbacks."""

import functools
import inspect
import re

# The arguments of Keras 2's optimizers in their places, and the learning rates that they begin with.
PLACES = {
    "SGD": ("learning_rate", "momentum", "decay", "nesterov"),
    "RMSprop": ("learning_rate", "rho", "epsilon", "decay"),
    "Adagrad": ("learning_rate", "epsilon", "decay"),
    "Adadelta": ("learning_rate", "rho", "epsilon", "decay"),
    "Adam": ("learning_rate", "beta_1", "beta_2", "epsilon", "decay", "amsgrad"),
    "Adamax": ("learning_rate", "beta_1", "beta_2", "epsilon", "decay"),
    "Nadam": ("learning_rate", "beta_1", "beta_2", "epsilon"),
}
RATES = {
    "SGD": 0.01, "RMSprop": 0.001, "Adagrad": 0.01, "Adadelta": 1.0, "Adam": 0.001, "Adamax": 0.002, "Nadam": 0.002,
}  # fmt: skip
SHAPE = "_kbench_batch_shape"


def optimizers(keras, used):
    """Let optimizers take the arguments of Keras 2, and give their rate as `lr`."""
    for name, places in PLACES.items():
        _optimizer(keras, getattr(keras.optimizers, name), places, used)

    def get(optimizer):
        used("optimizer.lr")
        if isinstance(optimizer._learning_rate, keras.optimizers.schedules.LearningRateSchedule):
            raise NotImplementedError("--shims does not serve optimizer.lr beside decay=")
        return optimizer.learning_rate

    def set_to(optimizer, rate):
        used("optimizer.lr")
        optimizer.learning_rate = rate

    keras.optimizers.Optimizer.lr = property(get, set_to)


def _optimizer(keras, kind, places, used):
    original = kind.__init__

    @functools.wraps(original)
    def called(one, *args, **kwargs):
        old = "lr" in kwargs or "decay" in kwargs
        if len(args) > 2 and not (kind.__name__ == "SGD" and isinstance(args[2], bool)):  # Keras 3's nesterov
            if len(args) > len(places):
                raise TypeError(f"{kind.__name__} of Keras 2 takes {len(places)} arguments by position")
            kwargs, args, old = dict(kwargs, **dict(zip(places, args))), (), True
            if kwargs.get("epsilon", 0) is None:
                del kwargs["epsilon"]
        if "lr" in kwargs:
            used("lr")
            kwargs["learning_rate"] = kwargs.pop("lr")
        if old:
            _defaults(kind.__name__, args, kwargs)
        decay = kwargs.pop("decay", None)
        if decay:
            used("decay")
            rate, args = args[0] if args else kwargs.pop("learning_rate"), args[1:]
            schedule = keras.optimizers.schedules.InverseTimeDecay(rate, decay_steps=1, decay_rate=decay)
            args = (schedule,) + args
        return original(one, *args, **kwargs)

    kind.__init__ = called


def _defaults(name, args, kwargs):
    """Those of Keras 2 that Keras 3 has not."""
    if not args:
        kwargs.setdefault("learning_rate", RATES[name])
    if name == "Adagrad":
        kwargs.setdefault("initial_accumulator_value", 0.0)


def named_optimizer(keras, name, used):
    """The optimizer under its name in small letters, with the learning rate of Keras 2."""

    def made(*args, **kwargs):
        used(name.lower())
        if name == "Nadam":
            raise NotImplementedError("--shims does not serve optimizers.nadam: Keras 3's has another schedule")
        if "lr" not in kwargs:
            _defaults(name, args, kwargs)
        return getattr(keras.optimizers, name)(*args, **kwargs)

    return made


def layers(keras, used):
    """Let every layer take `batch_input_shape`, or `batch_size` with `input_shape`, and `weights`."""
    original, add = keras.layers.Layer.__init__, keras.Sequential.add

    @functools.wraps(original)
    def called(layer, *args, **kwargs):
        if "batch_size" in kwargs and "input_shape" in kwargs:
            kwargs["batch_input_shape"] = (kwargs.pop("batch_size"),) + tuple(kwargs.pop("input_shape"))
        shape, weights = kwargs.pop("batch_input_shape", None), kwargs.pop("weights", None)
        original(layer, *args, **kwargs)
        if shape is not None:
            used("batch_input_shape")
            vars(layer)[SHAPE] = tuple(shape)
        if weights is not None:
            used("weights")
            _begin_with(layer, weights)

    called.__signature__ = inspect.signature(original)  # Keras asks classes without an own __init__ for it

    @functools.wraps(add)
    def added(model, layer, *args, **kwargs):
        if getattr(layer, SHAPE, None) is not None and not model._layers:
            add(model, keras.layers.InputLayer(batch_shape=getattr(layer, SHAPE)), *args, **kwargs)
        return add(model, layer, *args, **kwargs)

    keras.layers.Layer.__init__, keras.Sequential.add = called, added


def _begin_with(layer, weights):
    build = layer.build

    @functools.wraps(build)
    def built(*args, **kwargs):
        build(*args, **kwargs)
        layer.set_weights(weights)

    vars(layer)["build"] = built


def checkpoints(keras, used):
    """Let ModelCheckpoint take `period`: it then saves after so many epochs."""
    kind = keras.callbacks.ModelCheckpoint
    original, ends = kind.__init__, kind.on_epoch_end

    @functools.wraps(original)
    def called(one, *args, **kwargs):
        one.period, one.epochs_since_last_save = kwargs.pop("period", 1), 0
        if one.period != 1:
            used("period")
        original(one, *args, **kwargs)

    @functools.wraps(ends)
    def on_epoch_end(one, epoch, logs=None):
        one.epochs_since_last_save += 1
        if one.epochs_since_last_save >= one.period:
            one.epochs_since_last_save = 0
            ends(one, epoch, logs)

    kind.__init__, kind.on_epoch_end = called, on_epoch_end


def scores(keras, used):
    """Let an accuracy go by the names of both generations, in a history and in what callbacks are given."""
    from keras.src.utils import python_utils

    class Scores(dict):
        def __missing__(self, name):
            other = _other(name)
            if not dict.__contains__(self, other):
                raise KeyError(name)
            used(name)
            return dict.__getitem__(self, other)

        def __contains__(self, name):
            return dict.__contains__(self, name) or dict.__contains__(self, _other(name))

        def get(self, name, default=None):
            try:
                return self[name]
            except KeyError:
                return default

        def __reduce__(self):
            return dict, (dict(self),)

    original, as_numbers = keras.callbacks.History.__init__, python_utils.pythonify_logs

    @functools.wraps(original)
    def called(one, *args, **kwargs):
        original(one, *args, **kwargs)
        one.history = Scores(one.history)

    keras.callbacks.History.__init__ = called
    python_utils.pythonify_logs = lambda logs: Scores(as_numbers(logs))


def monitors(keras, used):
    """Let callbacks take the largest `acc` for the best, as they do with an accuracy by Keras 3's name."""
    monitor_callback = keras.src.callbacks.monitor_callback.MonitorCallback
    original = monitor_callback.__init__

    @functools.wraps(original)
    def called(one, monitor="val_loss", mode="auto", *args, **kwargs):
        if mode == "auto" and monitor.endswith("acc"):
            used(f"monitor={monitor!r}")
            mode = "max"
        original(one, monitor, mode, *args, **kwargs)

    monitor_callback.__init__ = called


def _other(name):
    """The name of an accuracy in the other generation."""
    if not isinstance(name, str):
        return None
    return re.sub("(?<![a-z])acc$", "accuracy", name) if name.endswith("acc") else re.sub("accuracy$", "acc", name)


ALL = (optimizers, layers, checkpoints, scores, monitors)
