"""What a model is, in words that are the same on every backend: layers with their settings, optimizer, loss, dtype.

Two cells are compared only where these agree. Values are those that the backend holds, not those that were asked for.
"""

import generations
import kernels
import weights
from keras import backend as K

# The settings that decide what a layer computes; names, initializers and the layout of pictures do not.
SETTINGS = (
    "activation", "alpha", "center", "cropping", "depth_multiplier", "dilation_rate", "dims", "dropout", "epsilon",
    "filters", "go_backwards", "input_dim", "kernel_size", "mask_zero", "merge_mode", "momentum", "n",
    "negative_slope", "output_dim", "padding", "pool_size", "rate", "recurrent_activation", "recurrent_dropout",
    "reset_after", "return_sequences", "scale", "size", "strides", "target_shape", "units", "use_bias",
)  # fmt: skip
ALIASES = {"alpha": "negative_slope"}  # LeakyReLU's, before and in Keras 3


def layers(model):
    """[layer class, settings, shapes of its weights] for each layer that computes something, nested models opened."""
    found = []
    for layer in model.layers:
        if hasattr(layer, "layers"):
            found.extend(layers(layer))
        elif layer.__class__.__name__ != "InputLayer":
            found.append(describe(layer))
    return found


def describe(layer):
    """[layer class, settings, shapes of its weights] of one layer."""
    return [_class_name(layer), _settings(layer), _shapes(layer)]


def compiled(model, loss, batch_size):
    """{optimizer, loss, batch_size} of a compiled model."""
    return {
        "optimizer": _optimizer(model.optimizer),
        "loss": str(loss),
        "batch_size": batch_size,
    }


def dtypes(model):
    """The dtypes of the model's weights, each once."""
    return sorted({_dtype(weight) for weight in model.weights})


def _class_name(layer):
    return layer.__class__.__name__.replace("Folded", "").replace("Reordered", "")


def _settings(layer):
    config = layer.get_config()
    settings = {ALIASES.get(name, name): _plain(config[name]) for name in SETTINGS if name in config}
    for name in ("layer", "cell"):  # of a wrapper
        inner = getattr(layer, name, None)
        if name in config and inner is not None:
            settings[name] = [_class_name(inner), _settings(inner)]
    # A default that one generation does not know yet is the same as its absence.
    return {name: value for name, value in settings.items() if value not in (None, False)}


def _shapes(layer):
    shapes = []
    for weight in layer.weights:
        name, _, owner = weights.find(layer, weight)
        shapes.append(list(kernels.shared_shape(owner, name, generations.shape_of(weight))))
    return shapes


def _optimizer(optimizer):
    """{class_name, learning_rate, ...} in Keras 3's words; what is switched off (None, False, 0) is left out."""
    config = {name: _plain(value) for name, value in generations.optimizer_settings(optimizer).items()}
    return {name: value for name, value in config.items() if value not in (None, False, 0)}


def _dtype(weight):
    return str(K.dtype(weight) if generations.generation() == 2 else weight.dtype)


def _plain(value):
    """A setting as JSON has it; numbers to six figures, for a backend holds them as float32."""
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if callable(value):
        return value.__name__
    if isinstance(value, dict):
        return _plain(value.get("class_name", str(value)))
    number = float("%.6g" % float(value))
    return int(number) if number == int(number) else number
