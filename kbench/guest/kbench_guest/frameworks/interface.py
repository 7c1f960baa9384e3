"""What kbench asks of a framework, with answers that hold for an unknown one."""

import contextlib
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from kbench_guest import parts
from kbench_guest.device import Device, Pending
from kbench_guest.frameworks import recurrent
from kbench_guest.frameworks.workers import Workers
from kbench_guest.protocol import Refused

if TYPE_CHECKING:
    from kbench_guest.clock import EpochClock


class Weights:
    """The numbers that a model learns, in the framework's form and in the one that all share."""

    def weights(self, model: Any) -> List[Tuple[Any, List[Any]]]:
        """[(layer, its weights as float32 arrays in the layout that all frameworks share)], as they are now."""
        raise NotImplementedError

    def own_weights(self, model: Any) -> List[Tuple[Any, List[Any]]]:
        """The same as this framework keeps them."""
        raise NotImplementedError

    def values(self, weights: Sequence[Any]) -> List[Any]:
        """The values of many weights, as arrays of their own."""
        raise NotImplementedError

    def shape_of(self, weight: Any) -> Tuple[Any, ...]:
        """The shape of a weight or a tensor, None for an axis that is open."""
        raise NotImplementedError

    def dtype_of(self, weight: Any) -> str:
        """Of a weight, as numpy names it."""
        raise NotImplementedError

    def set_values(self, weights: Sequence[Any], values: Sequence[Any]) -> None:
        """Give many weights their values."""
        raise NotImplementedError

    def shared_shape(self, owner: Any, name: Optional[str], shape: Any) -> Tuple[Any, ...]:
        """The shape that the weight `name` of the layer `owner` has on the other backends."""
        return tuple(shape)

    def to_shared(self, owner: Any, name: Optional[str], value: Any) -> Any:
        """A weight as this backend keeps it, in the layout that all share."""
        return value

    def from_shared(self, owner: Any, name: Optional[str], value: Any) -> Any:
        """A weight in the shared layout as this backend wants it."""
        return value

    def all_weights(self, model: Any) -> List[Any]:
        """The values of all weights of the model, as they are now."""
        return self.values(list(model.weights))

    def learning_rate(self, model: Any) -> Any:
        """The base rate that the optimizer holds; None if it has none that is a number."""
        return None

    def updates(self, model: Any) -> Optional[int]:
        """How many steps the optimizer has counted; None if it does not count them."""
        return None


class Steps:
    """Training and prediction, step by step."""

    def train_epoch(
        self, model: Any, epoch: int, given: Dict[str, Any], clock: "EpochClock", callbacks: List[Any]
    ) -> Dict[str, float]:
        """Train for one epoch, the first is 1; returns {"loss": ..., each metric: its value}.

        given: of `of_epoch` in feeding.py. clock: an EpochClock, whose `begin` and `finish` are called around the
        batches. callbacks: of Keras.
        """
        raise NotImplementedError

    def trial(self, model: Any, example: Any, device: str) -> Any:
        """A Trial of a compiled model (trials.py)."""
        raise NotImplementedError

    def calls(self, example: Any, steps: int) -> int:
        """How often the compiled function is called in an epoch of `steps` steps."""
        return -(-steps // getattr(example, "STEPS_PER_EXECUTION", 1))

    def unseen_steps(self, kind: str) -> str:
        """What a row says whose clock has seen no step: a sentence without its full stop."""
        return "no step was seen: its epochs are timed whole, and not compared within turns"

    def steps_of_a_call(self, model: Any) -> int:
        """How many steps the compiled function takes at once."""
        return 1

    @contextlib.contextmanager
    def data_of_fit(self, see: Callable[[Dict[str, Any]], None]) -> Iterator[None]:
        """While it is open, fit calls see(arguments) with what it makes batches of, if that can be seen."""
        yield

    def data_of_step(self, model: Any, args: Tuple[Any, ...]) -> Optional[Tuple[Any, Any, Any]]:
        """(inputs, targets, weights of the samples) in the arguments of a training step; None if it has them not."""
        return None

    def validation_hook(self, model: Any, wrap: Callable[..., Any]) -> None:
        """Wraps the functions that evaluate and predict a batch, if `data_of_step` finds it in their arguments."""

    def settings_of_training(self, model: Any, ordered_updates: bool) -> Dict[str, Any]:
        """What else counts of a compiled model: fields of the event `training`.

        ordered_updates: whether kbench puts gradients, updates and step counter in order.
        """
        return {}

    def compilations(self) -> Optional[int]:
        """How often this process has compiled or traced what it trains; None if that is not counted."""
        return None


class Layers:
    """What a model is made of, and the kernels that its recurrent layers run."""

    kernels_at_first = True  # whether `kernels_seen` has to be open when a model computes for the first time

    def describe(self, model: Any) -> List[List[Any]]:
        """[layer class, settings, shapes of its weights] of each layer, in words that all frameworks share."""
        raise NotImplementedError

    def is_recurrent(self, model: Any) -> bool:
        """Whether it has recurrent layers."""
        return False

    def kernels_seen(self, model: Any) -> ContextManager[Set[str]]:
        """While it is open, adds the kernels of recurrent layers that run or are traced: see recurrent.py."""
        return recurrent.called({})

    def kernels_compiled(self, model: Any) -> Set[str]:
        """Those in the graph of a model that has computed its outputs. May raise anything."""
        return set()

    def default_kernel(self, model: Any) -> str:
        """The one that shows neither here nor there; empty if that is unknown."""
        return ""


class Framework(Device, Weights, Steps, Layers):
    """One framework. Its subclasses override what raises NotImplementedError, and whatever they know better."""

    module: Any  # what Python imports of the framework
    eager = False  # whether a model can be called with numbers, and is traced when it trains
    supports_run_eagerly = False  # whether run_eagerly keeps a model's steps from being compiled
    workers = Workers()  # with which the model trains

    def start_workers(self, spec: Dict[str, Any]) -> None:
        """Called before the framework computes. Raises Refused if it cannot train with several."""
        if spec.get("workers"):
            self.workers = parts.imported(spec["workers"]).started(self, spec)

    def versions(self) -> Tuple[str, str]:
        """(version of the library that the model is written in, version of the framework below it)."""
        raise NotImplementedError

    def wait(self, model: Any, outputs: Any = None) -> None:
        """A weight can be copied only after the update that changes it."""
        self.values((list(model.trainable_weights) or list(model.weights))[:1])

    def prepare(self) -> None:
        """Called before a model is made."""

    def seed(self, number: int) -> None:
        """Seed the random numbers of training, such as dropout's. They differ from framework to framework."""
        raise NotImplementedError

    def set_policy(self, policy: str) -> None:
        """Set the dtype policy of all layers made from now on. Raises Refused."""
        raise Refused("unsupported", "it has no dtype policies")

    def set_jit(self, model: Any, on: bool) -> None:
        """Turn jit_compile of a compiled model on or off. Raises Refused."""
        raise Refused("unsupported", "it has no jit_compile")

    def settings_of_model(self, model: Any) -> Dict[str, Any]:
        """{"jit": "on" or "off", "computes_in": [dtypes its layers compute in]}; {} if it has no such settings."""
        return {}

    def unusual(self, model: Any, spec: Dict[str, Any]) -> List[str]:
        """[a sentence without its full stop] on each setting that the example's file has changed."""
        return []


class DoneOnReturn:
    """A framework whose functions return when their work on the device is done."""

    def wait(self, model: Any, outputs: Any = None) -> None:
        pass

    def pending(self, outputs: Any) -> Optional[Pending]:
        return None
