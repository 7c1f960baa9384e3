"""What a cell does in place of measuring: computes the model of an example or of a twin, or a program's first one."""

from typing import TYPE_CHECKING, Any, Dict, List

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_guest.protocol import Events


def with_model(
    framework: "KerasModels", model: Any, example: Any, spec: Dict[str, Any], feed: Any, events: "Events"
) -> None:
    """Compute an example's model, which is not compiled yet."""
    from kbench_parity import computing

    computing.run(framework, model, example, spec, feed, events)


def without_dropout(model: Any) -> Any:
    """The model without dropout, before it has the form that the backend needs."""
    from kbench_parity import silent

    return silent.without_dropout(model)


def with_twin(twin: Any, initial: List[Any], example: Any, spec: Dict[str, Any], feed: Any, events: "Events") -> None:
    """Compute a twin; initial: its weights before the first step."""
    from kbench_parity import twins

    twins.run(twin, initial, example, spec, feed, events)


def in_program(*given: Any) -> Any:
    """What waits for the first training of a program; `given` as to the observer of its calls."""
    from kbench_parity import program

    return program.FirstModel(*given)
