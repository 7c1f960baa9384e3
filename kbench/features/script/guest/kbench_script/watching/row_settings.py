"""The settings in a row's name, jit_compile and the dtype policy: given to each model of the program, and proved."""

import functools
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict

from kbench_guest.proof.as_asked import check_settings
from kbench_script.watching.wrapping import RUNS, TRAINS, wrap_methods

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_guest.protocol import Events


def watch(model_class: Any, framework: "KerasModels", spec: Dict[str, Any], events: "Events") -> None:
    """Set them in each model before its first call after it was compiled. That call raises Refused if they differ.

    jit_compile takes the place of the program's own. The policy is set when Keras has been imported.
    """
    if not spec["jit"] and not spec["policy"]:
        return
    checked: Any = weakref.WeakSet()

    def compiles(_method: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def compiled(model: Any, *args: Any, **kwargs: Any) -> Any:
            checked.discard(model)
            return original(model, *args, **kwargs)

        return compiled

    def calls(_method: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def called(model: Any, *args: Any, **kwargs: Any) -> Any:
            if model not in checked:
                checked.add(model)
                check_settings(framework, model, spec, events)
            return original(model, *args, **kwargs)

        return called

    wrap_methods(model_class, ("compile",), compiles)
    wrap_methods(model_class, TRAINS + RUNS, calls)
