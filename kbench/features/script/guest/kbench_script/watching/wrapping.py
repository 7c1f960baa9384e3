"""Wraps methods of Keras's Model, and reads the arguments that they are called with."""

import inspect
import os
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple, Type

if TYPE_CHECKING:
    from kbench_script.program_files import Files

# The methods of models that are observed, by their names in both generations of Keras.
FITS = ("fit", "fit_generator")
EVALUATES = ("evaluate", "evaluate_generator")
PREDICTS = ("predict", "predict_generator")
SCORES = EVALUATES + ("test_on_batch",)
CALL = "__call__"
TRAINS = FITS + ("train_on_batch",)
GIVE_SCORES = SCORES + ("train_on_batch",)
RUNS = SCORES + PREDICTS + ("predict_on_batch",)

# A call's positional arguments, the others, and what to do with what it returns.
Observed = Tuple[Tuple[Any, ...], Dict[str, Any], Callable[[Any], None]]


def wrap_methods(
    model_class: Any, names: Sequence[str], wrap: Callable[[str, Callable[..., Any]], Callable[..., Any]]
) -> None:
    """Replace these methods of Model, and those that override them in subclasses, by wrap(name, method)."""
    for name in names:
        for one in _subclasses(model_class):
            if name in vars(one):
                setattr(one, name, wrap(name, vars(one)[name]))
        if hasattr(model_class, name):
            setattr(model_class, name, wrap(name, getattr(model_class, name)))


def _subclasses(one: Type[Any]) -> List[Type[Any]]:
    return [below for subclass in one.__subclasses__() for below in [subclass] + _subclasses(subclass)]


def in_main_thread(pid: int) -> bool:
    """Whether this is the main thread of the process `pid`, and of no child of it."""
    return threading.current_thread() is threading.main_thread() and os.getpid() == pid


def by_name(function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Optional[Dict[str, Any]]:
    """The arguments of a method by their names; None if they do not fit the method."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    names = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    named = dict(zip(names, args))
    if len(args) > len(names) or set(named) & set(kwargs):
        return None
    return dict(named, **kwargs)


def given_to(function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Dict[str, Any]:
    """The arguments of a call that has returned by their names, its inputs as `x`, whatever the method calls them."""
    named = by_name(function, args, kwargs) or kwargs
    return dict(named, x=named.get("x", named.get("generator", args[0] if args else None)))


def site_name(method: str, files: "Files") -> str:
    """The line of the program that calls a method: "predict, line 12"."""
    method = method.replace("_generator", "").strip("_")  # Keras 3 has no such methods
    file, line = files.line()
    other = " " + file if file else ""
    return f"{method},{other} line {line}"
