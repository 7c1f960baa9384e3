"""What a Keras layer computes, in words that are the same in both generations and on every backend.

Every setting counts, even one that Keras may add later, but those in IGNORED, which do not change what is computed.
"""

from typing import TYPE_CHECKING, Any, Dict, List, Optional

from kbench_guest.arrays import leaves
from kbench_guest.frameworks.layers import class_name, find, owners

if TYPE_CHECKING:
    from kbench_guest.frameworks.interface import Weights

# Names, shapes that follow from the data, seeds, initial values, and the form or layout of the same computation.
IGNORED = {
    "name", "dtype", "trainable", "batch_shape", "batch_input_shape", "input_shape", "input_length", "input_dtype",
    "build_config", "build_input_shape", "query_shape", "key_shape", "value_shape",
    "seed", "unit_forget_bias", "data_format", "unroll", "implementation",
    "use_cudnn", "time_major", "rank", "output_shape", "output_shape_type", "function_type", "module", "function",
    "quantization_config", "lora_rank", "lora_alpha",
}  # fmt: skip
ALIASES = {"alpha": "negative_slope"}  # LeakyReLU's, before and in Keras 3
# Settings that one generation lacks, with the value at which both compute the same.
SAME_AS_ABSENT = {"groups": 1, "renorm_momentum": 0.99}


def describe(framework: "Weights", layer: Any, frozen: bool) -> List[Any]:
    """[layer class, settings, shapes of its weights] of one layer; frozen: whether a model around it is."""
    try:
        config = layer.get_config()
    except NotImplementedError:  # a user's layer whose settings Keras 3 cannot list
        config = {}
    named = not _has_no_config(layer.__class__)
    settings = _settings(config, _rank(framework, layer)) if named else _precision(config)
    trained = not frozen and all(getattr(owner, "trainable", True) for owner in owners(layer))
    if layer.weights and not trained:
        settings["trainable"] = False
    if callable(getattr(layer, "function", None)):  # a Lambda; the bytes of its code differ from Python to Python
        settings["function"] = plain(layer.function)
    shapes = []
    for weight in layer.weights:
        name, _, owner = find(layer, weight)
        shapes.append(list(framework.shared_shape(owner, name, framework.shape_of(weight))))
    return [class_name(layer.__class__.__name__), settings, shapes]


def plain(value: Any) -> Any:
    """A setting as JSON has it; numbers to six figures, since a backend holds them as float32."""
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, dict):
        return _object(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if not isinstance(value, (int, float)):
        return getattr(value, "__name__", value.__class__.__name__)
    number = float(f"{value:.6g}")
    return int(number) if number.is_integer() else number


def dropped_defaults(settings: Dict[str, Any]) -> Dict[str, Any]:
    """Without what is off: a setting that one generation lacks is off there."""
    return {name: value for name, value in settings.items() if value not in (None, False, [], {}, "")}


def _settings(config: Dict[str, Any], rank: Optional[int] = None) -> Dict[str, Any]:
    found = _precision(config)
    for name, value in config.items():
        name = ALIASES.get(name, name)
        if name in IGNORED or name.endswith("_initializer"):
            continue
        found[name] = _axes(value, rank) if name in ("axis", "axes") else plain(value)
        if name == "target_shape":
            found[name] = _one_row(found[name])
        if found[name] == SAME_AS_ABSENT.get(name):
            del found[name]
    if found.get("axis") == -1:
        del found["axis"]
    if "backward_layer" in found:
        _one_direction(found)
    return dropped_defaults(found)


def _has_no_config(layer_class: Any) -> bool:
    """Whether it is a user's layer without a get_config: Keras 3 then finds some settings by itself, Keras 2 none."""
    import keras

    inherited = layer_class.get_config is keras.layers.Layer.get_config
    package, of_keras = (one.__module__.partition(".")[0] for one in (layer_class, keras.layers.Layer))
    return inherited and package != of_keras


def _one_direction(found: Dict[str, Any]) -> None:
    """Drop the backward layer of a Bidirectional if it is like the forward one: Keras 2 does not list it."""
    forward, backward = found["layer"][1], found["backward_layer"][1]
    for settings in (forward, backward):
        settings.pop("zero_output_for_mask", None)  # which Keras 3 sets here
    turned = dict(backward, go_backwards=not backward.get("go_backwards"))
    if dropped_defaults(turned) == forward:
        del found["backward_layer"]


def _precision(config: Dict[str, Any]) -> Dict[str, Any]:
    """{"dtype": ...} of a layer whose precision differs from the rest of Keras."""
    dtype = config.get("dtype")
    if isinstance(dtype, dict):  # a policy of Keras 3
        dtype = dtype.get("config", {}).get("name")
    if not isinstance(dtype, str) or "float" not in dtype:
        return {}
    import keras

    usual = [keras.backend.floatx()]  # the whole model's, which is reported apart
    if hasattr(keras, "config"):
        usual.append(keras.config.dtype_policy().name)
    elif hasattr(keras, "mixed_precision"):  # of Keras 2 on TensorFlow 2
        usual.append(keras.mixed_precision.global_policy().name)
    return {} if dtype in usual else {"dtype": dtype}


def _object(value: Dict[str, Any]) -> Any:
    """A layer, regularizer, constraint or function within a configuration."""
    name, config = value.get("class_name"), value.get("config")
    if name is None:
        return dropped_defaults({key: plain(one) for key, one in value.items()})
    if not isinstance(config, dict):  # a function: its name
        return plain(config) or name
    if name in ("L1", "L2", "L1L2"):
        return {"class_name": "L1L2", **_settings(config)}
    if "code" in config:
        return "<lambda>"
    return [class_name(name), _settings(config)]


def _axes(value: Any, rank: Optional[int]) -> Any:
    """Axes counted from the last one, images as if channels came last."""
    if isinstance(value, (list, tuple)):
        found = [_axes(one, rank) for one in value]
        return found[0] if len(found) == 1 else found
    if not isinstance(value, int) or rank is None:
        return plain(value)
    import keras

    axis = value % rank
    if rank >= 4 and keras.backend.image_data_format() == "channels_first" and axis > 0:
        axis = rank - 1 if axis == 1 else axis - 1
    return axis - rank


def _one_row(shape: Any) -> Any:
    """A vector as an image of one place has the same numbers in either layout."""
    return sorted(shape) if isinstance(shape, list) and sum(axis != 1 for axis in shape) == 1 else shape


def _rank(framework: "Weights", layer: Any) -> Optional[int]:
    """The number of axes of the layer's input, with the batch's; None if that cannot be read."""
    try:
        return len(framework.shape_of(leaves(layer._inbound_nodes[0].input_tensors)[0]))
    except Exception:  # a layer that is only called inside another one
        return None
