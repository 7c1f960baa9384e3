"""What each Keras and framework has for looking into a step: its layers apart, and its profiler."""

from typing import TYPE_CHECKING, Any, Callable, List

from kbench_explain import profilers

if TYPE_CHECKING:
    from kbench_explain.step_parts import Part
    from kbench_guest.frameworks.keras_models import KerasModels

# By the name of the framework's module, with Keras 3 and Keras 2 on TensorFlow 2.
PROFILERS = {"jax": profilers.jax, "tensorflow": profilers.tensorflow, "torch": profilers.pytorch}


def parts(framework: "KerasModels", model: Any, x: Any) -> "List[Part]":
    """The parts of a training step of a compiled model that can be run alone. Raises what Keras raises."""
    if _is_as_keras3(framework):
        from kbench_explain import layers_of_keras3

        return layers_of_keras3.parts(framework.module, model, x)
    from kbench_explain import layers_of_keras2

    return layers_of_keras2.parts(model, x)


def traced(framework: "KerasModels", run: Callable[[], None], folder: str, path: str) -> profilers.Operations:
    """Trace run() into the file at `path`; returns (operation, seconds, calls). Raises NotImplementedError.

    folder: an empty one, for what the profiler writes.
    """
    profiler = PROFILERS.get(getattr(framework.module, "__name__", "")) if _is_as_keras3(framework) else None
    if profiler is None:
        raise NotImplementedError
    return profiler(framework.module, run, folder, path)


def _is_as_keras3(framework: "KerasModels") -> bool:
    """Whether its models are used as those of Keras 3; the module of the others cannot be imported beside it."""
    return any(one.__name__ == "Keras3" for one in type(framework).__mro__)
