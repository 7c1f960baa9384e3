"""Describes a call of fit and its model, without changing them."""

import contextlib
import hashlib
import json
import types
from typing import TYPE_CHECKING, Any, Dict, Iterator, List

import numpy as np

from kbench_guest.frameworks.layers import every_layer
from kbench_guest.proof import fingerprint
from kbench_script.watching import fallbacks

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels

HASHED_BYTES = 1 << 24  # of each array, from the front


def model(framework: "KerasModels", made: Any) -> Dict[str, Any]:
    """{parameters, layers, dtypes, fallbacks, optimizer, loss} as far as they are known; `notes` say what is not."""
    asked = [
        ("parameters", lambda: _parameters(framework, made)),
        ("layers", lambda: framework.describe(made)),
        ("dtypes", lambda: fingerprint.dtypes(framework, made)),
        ("fallbacks", lambda: fallbacks.fallbacks(framework, made)),
    ]
    if getattr(made, "optimizer", None) is not None:
        asked.append(("optimizer", lambda: fingerprint.optimizer(framework, made)))
        asked.append(("loss", lambda: _name(made.loss)))
    found, notes = {}, []
    for name, ask in asked:
        try:
            found[name] = ask()
        except Exception as error:  # of the user's model: it is measured even if it cannot be described
            notes.append(f"its {name} cannot be described ({type(error).__name__})")
    if isinstance(getattr(made, "jit_compile", None), bool):
        found["jit_compile"] = made.jit_compile
    if framework.supports_run_eagerly and getattr(made, "run_eagerly", False):
        found["run_eagerly"] = True
    found["weights"] = "its own"
    found["own_code"] = int(any(not _is_of_keras(one) for one in [made, *every_layer(made)]))
    return dict(found, notes=notes) if notes else found


def _is_of_keras(one: Any) -> bool:
    return type(one).__module__.partition(".")[0] in ("keras", "tf_keras", "tensorflow")


def _parameters(framework: "KerasModels", made: Any) -> int:
    """How many numbers its weights have. Keras does not count those of a model of which only the layers are built."""
    try:
        return int(made.count_params())
    except ValueError:
        weights = {
            id(one): one for layer in every_layer(made) for one in layer.weights
        }  # those of metrics are no part
        if not weights:
            raise
        return int(sum(np.prod(framework.shape_of(one)) for one in weights.values()))


def has_all_weights(made: Any) -> bool:
    """Whether the model and its layers are built: on some backends the first step makes the weights of some."""
    return all(getattr(one, "built", True) for one in [made, *every_layer(made)])


def training(given: Dict[str, Any], hashed: bool) -> Dict[str, Any]:
    """{batch_size, samples, ...} of the arguments of fit, as far as they are known; `hashed`: with content_sha256."""
    found: Dict[str, Any] = {}
    x = given.get("x", given.get("generator"))
    split = float(given.get("validation_split") or 0.0)
    if split:
        found["validation_split"] = split
    if rows(x):
        found["batch_size"] = int(given.get("batch_size") or 32)
        found["samples"] = rows(x)
        found["validation_samples"] = rows(x) - _trained(rows(x), split)
        found["in_order"] = int(given.get("shuffle", True) is False)
        if hashed and _arrays(x):
            with contextlib.suppress(Exception):  # arrays of objects
                found["content_sha256"] = _sha256(_arrays(x) + _arrays(given.get("y")))
            found.update(weighting(given))
    else:
        if isinstance(getattr(x, "batch_size", None), int):
            found["batch_size"] = x.batch_size
        found["feeds"] = type(x).__name__
    held_out = given.get("validation_data")
    if isinstance(held_out, (list, tuple)):
        found["validation_samples"] = rows(held_out[0])
        if hashed and all(map(_arrays, held_out)):
            with contextlib.suppress(Exception):
                found["validation_sha256"] = _sha256([one for part in held_out for one in _arrays(part)])
    return found


def weighting(given: Dict[str, Any]) -> Dict[str, Any]:
    """{sample_weights, class_weight} of the arguments of fit or evaluate, as far as they are known."""
    found: Dict[str, Any] = {}
    weights, classes = given.get("sample_weight"), given.get("class_weight")
    with contextlib.suppress(Exception):  # keys that are no numbers
        found["class_weight"] = json.dumps({str(int(one)): float(classes[one]) for one in sorted(classes or {})})
    arrays = _arrays(weights) or ([np.asarray(weights)] if hasattr(weights, "__array__") else [])
    if weights is None or (arrays and all(one.dtype.kind in "biuf" for one in arrays)):
        found["sample_weights"] = _sha256(arrays) if arrays else "none"
    return found


def feeds(given: Dict[str, Any]) -> Any:
    """What gives fit its batches, if that is no array."""
    x = given.get("x", given.get("generator"))
    return None if rows(x) else x


def count_samples(given: Dict[str, Any], facts: Dict[str, Any]) -> None:
    """Add the number of samples in a generator's first batch to `facts`, unless that is known."""
    for name in ("x", "generator"):
        if isinstance(given.get(name), types.GeneratorType) and "batch_size" not in facts:
            given[name] = _counted(given[name], facts)


def _counted(generator: Any, facts: Dict[str, Any]) -> Iterator[Any]:
    for batch in generator:
        facts.setdefault("batch_size", rows(batch[0] if isinstance(batch, tuple) else batch))
        yield batch


def samples(facts: Dict[str, Any], steps: int) -> int:
    """How many samples an epoch of `steps` steps has; 0 if that is not known."""
    given, size = facts.get("samples", 0), facts.get("batch_size", 0)
    if given:
        return min(_trained(given, facts.get("validation_split", 0.0)), steps * size or given)
    return steps * size


def steps_in_epoch(given: Dict[str, Any]) -> int:
    """How many steps each epoch of a fit with these arguments has; 0 if they do not tell."""
    if given.get("steps_per_epoch"):
        return int(given["steps_per_epoch"])
    x = given.get("x", given.get("generator"))
    if rows(x):
        trained = _trained(rows(x), float(given.get("validation_split") or 0.0))
        return -(-trained // int(given.get("batch_size") or 32))
    with contextlib.suppress(Exception):  # of the user's, or of a dataset of unknown length
        return max(0, int(x.cardinality() if hasattr(x, "cardinality") else len(x)))
    return 0


def _trained(samples: int, split: float) -> int:
    """How many of the samples are trained on if this part is for validation, as Keras rounds it."""
    return int(samples * (1 - split))


def rows(x: Any) -> int:
    """How many samples these arrays, tables, tensors or lists have; 0 if that is not known."""
    while isinstance(x, (list, tuple, dict)) and not is_array(x):
        x = next(iter(x.values() if isinstance(x, dict) else x), None)
    shape = getattr(x, "shape", None)
    if shape is None:
        return len(x) if is_array(x) else 0
    try:
        return int(shape[0])
    except (TypeError, IndexError, ValueError):  # a symbolic tensor, or a single number
        return 0


def is_array(x: Any) -> bool:
    """Whether it is a list that stands for an array."""
    return isinstance(x, (list, tuple)) and len(x) > 0 and isinstance(x[0], (int, float, str, bytes, np.generic))


def _arrays(x: Any) -> List[np.ndarray]:
    """The numpy arrays in x, which may be one, or a list or dict of them; [] if there is anything else."""
    if isinstance(x, np.ndarray):
        return [x]
    if isinstance(x, dict):
        x = [x[name] for name in sorted(x)]
    if isinstance(x, (list, tuple)) and x and all(isinstance(one, np.ndarray) for one in x):
        return list(x)
    return []


def _sha256(found: List[np.ndarray]) -> str:
    digest = hashlib.sha256()
    for one in found:
        item = min(one.itemsize, 4) if one.dtype.kind == "f" else one.itemsize
        first = one[: max(1, HASHED_BYTES // max(1, one.size // max(1, len(one)) * item))]
        single = first.astype("float32") if one.dtype.kind == "f" else first
        if np.array_equal(single, first):  # to_categorical gives float32 or float64, by the version of Keras
            first = single
        digest.update(f"{first.dtype.str} {one.shape}\n".encode("ascii"))
        digest.update(np.ascontiguousarray(first).tobytes())
    return digest.hexdigest()


def _name(loss: Any) -> str:
    """A loss as people write it."""
    if loss is None or loss == [] or loss == {}:
        return "none"
    if isinstance(loss, dict):
        return ", ".join(f"{name}: {_name(loss[name])}" for name in sorted(loss))
    if isinstance(loss, (list, tuple)):
        return ", ".join(_name(one) for one in loss)
    return loss if isinstance(loss, str) else getattr(loss, "__name__", type(loss).__name__)
