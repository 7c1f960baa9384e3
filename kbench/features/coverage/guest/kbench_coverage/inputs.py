"""What a case of a public name is given: arrays, settings and the call, as the host's program for it has them."""

from typing import Any, Callable, Dict, List, Sequence

import numpy as np

MIXED = "mixed_"  # at the start of a policy


def drawn(texts: Sequence[str], dtype: str = "") -> List[np.ndarray]:
    """The arrays x0, x1, ... that these statements make, floats rounded to this type."""
    names = {"np": np}  # type: Dict[str, Any]
    for text in texts:
        exec(text, names)  # of the host
    return [in_floatx(names[f"x{number}"], dtype) for number in range(len(texts))]


def in_floatx(value: np.ndarray, floatx: str) -> np.ndarray:
    """Of a mixed policy float32: a layer casts what it is given."""
    dtype = "float32" if floatx.startswith(MIXED) else floatx
    return value.astype(dtype) if dtype and value.dtype.kind == "f" else value


def perturbed(value: np.ndarray) -> np.ndarray:
    """Every number moved by one unit in its last place, but halves and whole numbers: they are meant, such as masked
    steps, ties and infinities.
    """
    if value.dtype.kind != "f":
        return value
    with np.errstate(invalid="ignore"):
        meant = ~np.isfinite(value) | (2 * value == np.round(2 * value))
    return np.where(meant, value, np.nextafter(value, value.dtype.type(np.inf), dtype=value.dtype))


def settings_of(case: Dict[str, Any], floatx: str) -> Dict[str, Any]:
    """The arguments that make what a case is about, with objects of their own."""
    settings = {key: made(one) for key, one in case["settings"].items()}
    return dict(settings, dtype=floatx) if case["dtype"] else settings  # float64 in the reference


def made(value: Any) -> Any:
    """A setting; {"python": "..."} stands for what this expression gives."""
    if isinstance(value, dict):
        return computed_from(value["python"], ())
    return tuple(made(one) for one in value) if isinstance(value, list) else value


def computed_from(code: str, given: Sequence[Any]) -> Any:
    """What an expression of keras, np, x0, x1, ... gives."""
    import keras

    names = {"keras": keras, "np": np}  # type: Dict[str, Any]
    names.update((f"x{number}", one) for number, one in enumerate(given))
    return eval(code, names)  # of the host


def applied(
    case: Dict[str, Any], function: Callable[..., Any], settings: Dict[str, Any], given: Sequence[Any]
) -> Any:
    """What the function of a case gives for its arrays."""
    names = case["arrays"]
    arrays = dict(zip(names, given)) if case["apart"] else {names[0]: list(given)} if names else {}
    return function(**arrays, **settings)


def called(case: Dict[str, Any], layer: Any, tensors: Sequence[Any]) -> Any:
    """What the layer of a case gives for these; a cell's other inputs are its states."""
    how = {"training": bool(case["training"])} if case["training"] or case["inference"] else {}
    if "Cell" in case["name"] and len(tensors) > 1:
        return layer(tensors[0], states=list(tensors[1:]), **how)
    return layer(*tensors, **how) if case["apart"] or len(tensors) == 1 else layer(list(tensors), **how)
