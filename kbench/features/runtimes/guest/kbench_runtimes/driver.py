"""An example on a runtime: the core's driver, whose model is exported once it is built."""

from typing import TYPE_CHECKING, Any, Dict

from kbench_guest import parts
from kbench_guest.drivers import model_file
from kbench_guest.protocol import Refused

if TYPE_CHECKING:
    from kbench_guest.protocol import Events
    from kbench_runtimes.exported import Exported


def run(spec: Dict[str, Any], events: "Events") -> None:
    """Run the cell of this spec. Raises Refused if it cannot go on."""
    model_file.run(spec, events, load=_load, finish=_export)


def _load(spec: Dict[str, Any]) -> "Exported":
    from kbench_runtimes import exported

    return exported.Exported(spec)


def _export(framework: "Exported", made: Any, inputs: Any, spec: Dict[str, Any], events: "Events") -> Any:
    if parts.is_bare(spec):
        raise Refused("unsupported", "an exported model's layers cannot be read: `run` compares its outputs")
    with events.phase("export"):
        return framework.export(made, inputs)
