"""What a cell does in place of measuring: looks into the training of an example's model, or of a program's first."""

from typing import TYPE_CHECKING, Any, Dict

if TYPE_CHECKING:
    from kbench_guest.frameworks.keras_models import KerasModels
    from kbench_guest.protocol import Events


def with_model(
    framework: "KerasModels", model: Any, example: Any, spec: Dict[str, Any], feed: Any, events: "Events"
) -> None:
    """Look into a compiled model, with its first batch."""
    from kbench_explain import inside
    from kbench_guest.training import example_file

    class_weights = example_file.class_weights(example)
    inside.look(framework, model, feed.batch(0), class_weights, spec, events, site="")


def in_program(*given: Any) -> Any:
    """What waits for the first training of a program; `given` as to the observer of its calls."""
    from kbench_explain import program_inside

    return program_inside.FirstTraining(*given)
