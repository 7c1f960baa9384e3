"""Where Keras 2 and Keras 3 differ: optimizers, metric names, step functions. Nothing else in kbench knows."""

import importlib

import keras
import numpy as np


def generation():
    """2 or 3."""
    return int(keras.__version__.split(".")[0])


def versions():
    """Keras's version and the version of the framework under it."""
    framework = importlib.import_module(keras.backend.backend())
    return keras.__version__, framework.__version__


def seed(number):
    """Seed what draws random numbers while a model trains: dropout. Each framework has a stream of its own."""
    np.random.seed(number)  # Keras 2 seeds its dropout layers from numpy
    if generation() == 3:
        keras.utils.set_random_seed(number)
        return
    framework = importlib.import_module(keras.backend.backend())
    if keras.backend.backend() == "tensorflow":
        framework.set_random_seed(number)
    elif keras.backend.backend() == "cntk":
        framework.cntk_py.set_fixed_random_seed(number)
    elif keras.backend.backend() == "mxnet":
        framework.random.seed(number)


def optimizer(settings):
    """A Keras optimizer from an example's OPTIMIZER: a class name and every hyper-parameter, in Keras 3's words.

    `decay` is Keras 2's: the learning rate in step t is learning_rate / (1 + decay * t).
    """
    settings = dict(settings)
    class_name = settings.pop("class_name")
    decay = settings.pop("decay", 0.0)
    rate = settings.pop("learning_rate")
    if class_name == "RMSprop" and _epsilon_is_under_the_root():
        settings["epsilon"] = settings["epsilon"] ** 2
    if generation() == 2:
        settings.update(lr=rate, decay=decay)
    else:
        if decay:
            rate = keras.optimizers.schedules.InverseTimeDecay(rate, decay_steps=1, decay_rate=decay)
        settings["learning_rate"] = rate
    return getattr(keras.optimizers, class_name)(**settings)


def optimizer_settings(optimizer):
    """{class_name, learning_rate, decay, ...} as the optimizer holds them, in the words of `optimizer`'s argument."""
    config = dict(optimizer.get_config())
    name = optimizer.__class__.__name__
    rate = config.pop("learning_rate", None) if generation() == 3 else config.pop("lr", None)
    if isinstance(rate, dict):  # InverseTimeDecay, as `optimizer` makes it
        schedule = rate["config"]
        config["decay"] = schedule["decay_rate"] / schedule["decay_steps"]
        rate = schedule["initial_learning_rate"]
    if generation() == 3:
        if not config.get("use_ema"):
            config = {key: value for key, value in config.items() if "ema_" not in key}
        config = {key: value for key, value in config.items() if key != "name"}
    if name == "RMSprop" and _epsilon_is_under_the_root():
        config["epsilon"] = config["epsilon"] ** 0.5
    return dict(config, class_name=name, learning_rate=rate)


def _epsilon_is_under_the_root():
    """In RMSprop, Keras 2 divides by sqrt(v) + epsilon, Keras 3 and MXNet by sqrt(v + epsilon).

    With 1e-7 that slows the first epochs of small gradients visibly; with epsilon squared under the root the two
    agree to within epsilon.
    """
    return generation() == 3 or keras.backend.backend() == "mxnet"


def compile_model(model, example, device, ordered_updates):
    """Compile with the example's loss, optimizer and metrics.

    ordered_updates: whether gradients, updates and step counter have to be put in order, by the backend's file.
    """
    kwargs = {}
    made = optimizer(example.OPTIMIZER)
    if ordered_updates:
        _order_updates(made)
    if device == "gpu" and keras.backend.backend() == "mxnet":
        kwargs["context"] = ["gpu(0)"]  # the one GPU that the host lets this process see
    model.compile(
        loss=example.LOSS,
        optimizer=made,
        metrics=list(getattr(example, "METRICS", ["accuracy"])),
        **kwargs,
    )


def _order_updates(made):
    """Let a Keras 2 optimizer compute all gradients before any weight changes, and count the step at its end.

    In TensorFlow 1 nothing orders these: a gradient may be computed with a kernel of the next step, and Adam may
    begin with step 2. TensorFlow's own optimizers order them (gate_gradients of tf.train.Optimizer).
    """
    import tensorflow

    gradients, updates = made.get_gradients, made.get_updates

    def get_gradients(loss, params):
        return tensorflow.tuple(gradients(loss, params))

    def get_updates(loss, params):
        _, *others = updates(loss=loss, params=params)  # the first one counts the step
        with tensorflow.control_dependencies(others):
            counted = keras.backend.update_add(made.iterations, 1)
        made.updates = [counted] + others
        return made.updates

    made.get_gradients, made.get_updates = get_gradients, get_updates


def wrap_step(model, kind, wrap):
    """Let fit ('train') or predict ('predict') call wrap(function) where it calls the model's compiled function.

    The method that makes the function is wrapped: Keras calls it at the beginning of every fit, most backends make
    the function in the first and keep it, keras-mxnet makes it anew each time. Nothing happens where there is none.
    """
    name = kind + "_function"
    maker = ("_make_" if generation() == 2 else "make_") + name
    make = getattr(model, maker, None)
    if make is None:
        return
    wrapped = []

    def make_and_wrap(*args, **kwargs):
        make(*args, **kwargs)
        function = getattr(model, name, None)
        if callable(function) and not any(function is one for one in wrapped):
            wrapped[:] = [wrap(function)]
            setattr(model, name, wrapped[0])
        return getattr(model, name, None)

    setattr(model, maker, make_and_wrap)


def training_scores(logs):
    """(loss, accuracy) out of the logs of an epoch; accuracy is None where it is not measured."""
    accuracy = [logs[name] for name in ("accuracy", "acc", "categorical_accuracy") if name in logs]
    return float(logs["loss"]), float(accuracy[0]) if accuracy else None


def shape_of(weight):
    """The shape of a weight as a tuple of numbers."""
    return tuple(weight.shape) if generation() == 3 else keras.backend.int_shape(weight)


def set_values(weights, values):
    """Give many weights their values; in TensorFlow 1 one call for all is a hundred times quicker."""
    if generation() == 2:
        keras.backend.batch_set_value(list(zip(weights, values)))
        return
    for weight, value in zip(weights, values):
        weight.assign(value)


def get_values(weights):
    """The values of many weights, as arrays of their own."""
    if generation() == 2:
        return [np.array(value) for value in keras.backend.batch_get_value(list(weights))]
    return [np.array(keras.ops.convert_to_numpy(weight)) for weight in weights]


def load_published_weights(model, path):
    """Load weights from a file in the format of Keras 2, matched by the layers' names."""
    model.load_weights(path, by_name=True)
