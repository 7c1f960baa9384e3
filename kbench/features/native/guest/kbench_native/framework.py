"""Frameworks without Keras: what each does in its own way, and answers that hold for one that nobody knows."""

import contextlib
import functools
import importlib
import random
from typing import TYPE_CHECKING, Any, Callable, ContextManager, Dict, Iterator, List, Optional, Set, Tuple

import numpy as np

from kbench_guest import arrays, scores
from kbench_guest.device import Pending
from kbench_guest.frameworks import recurrent
from kbench_guest.frameworks.interface import DoneOnReturn, Framework
from kbench_guest.frameworks.pytorch import PyTorchMixin
from kbench_guest.frameworks.tensorflow2 import TensorFlow2Mixin

if TYPE_CHECKING:
    from kbench_guest.clock import EpochClock


class AnyFramework(Framework):
    """A twin's framework; its models are those of twin.py.

    Until somebody knows better, its work is done when its weights have been copied, and no step is timed alone.
    """

    def __init__(self, module: Any) -> None:
        self.module = module
        self._see_scored: Optional[Callable[[Dict[str, Any]], None]] = None

    def versions(self) -> Tuple[str, str]:
        return "", str(getattr(self.module, "__version__", ""))

    def seed(self, number: int) -> None:
        """A twin seeds its framework by itself: `build` is given the seed."""
        random.seed(number)
        np.random.seed(number)

    def wait(self, model: Any, outputs: Any = None) -> None:
        model.weights()

    def is_recurrent(self, model: Any) -> bool:
        return any(layer[0] in recurrent.LAYERS for layer in model.layers)

    def data_of_step(self, model: Any, args: Tuple[Any, ...]) -> Optional[Tuple[Any, Any, Any]]:
        inputs, *targets = args  # a validation's step has none
        return [inputs], targets, []

    @contextlib.contextmanager
    def data_of_fit(self, see: Callable[[Dict[str, Any]], None]) -> Iterator[None]:
        """While it is open, `evaluate` calls see(arguments)."""
        self._see_scored = see
        try:
            yield
        finally:
            self._see_scored = None

    def validation_hook(self, model: Any, wrap: Callable[..., Any]) -> None:
        self.step_hook(model, "predict", wrap)

    def all_weights(self, model: Any) -> List[Any]:
        return model.weights()

    def step_hook(self, model: Any, kind: str, wrap: Callable[..., Any]) -> None:
        name = kind + "_function"
        setattr(model, name, wrap(getattr(model, name)))

    def train_epoch(
        self, model: Any, epoch: int, given: Dict[str, Any], clock: "EpochClock", callbacks: List[Any]
    ) -> Dict[str, float]:
        x, y = (arrays.batches(given[name], given["batch_size"]) for name in "xy")
        clock.begin(epoch)
        reported = [model.train_function(*batch) for batch in zip(x, y)]
        clock.finish(epoch)
        loss, accuracy = np.mean([[float(one) for one in step] for step in reported], axis=0)
        return {"loss": loss, "accuracy": accuracy}

    def evaluate(self, model: Any, x: Any, y: Any, batch_size: int) -> Dict[str, float]:
        """{"loss", "accuracy"} of samples that fill whole batches."""
        if self._see_scored:
            self._see_scored({"x": x, "y": y, "batch_size": batch_size})
        predicted = model.predict(x, batch_size)
        return {"loss": scores.LOSSES[model.loss](predicted, y), "accuracy": scores.accuracy(predicted, y)}


class Immediate(DoneOnReturn, AnyFramework):
    """A step's work is done when it returns: it computes on the CPU, or reads the loss back from the GPU."""


class TensorFlow1(Immediate):
    def device(self, model: Any) -> str:
        """The GPU if the twin's session has one: TensorFlow then computes there what can be."""
        sessions = model.inside(self.module.Session)
        kinds = {device.device_type for session in sessions for device in session.list_devices()}
        return "unknown" if not kinds else "gpu" if "GPU" in kinds else "cpu"


class CNTK(Immediate):
    def device(self, model: Any) -> str:
        device = self.module.device
        return "cpu" if device.use_default_device().type() == device.DeviceKind.CPU else "gpu"


class Caffe2(Immediate):
    """On a GPU, too, each operator is waited for."""

    def device(self, model: Any) -> str:
        from caffe2.python import core, model_helper

        nets = [helper.net.Proto() for helper in model.inside(model_helper.ModelHelper)]
        on_gpu = {bool(core.IsGPUDeviceType(one.device_option.device_type)) for net in nets for one in net.op}
        return "unknown" if not on_gpu else "gpu" if True in on_gpu else "cpu"


class Chainer(AnyFramework):
    """On a GPU a step returns before its work is done."""

    def _cuda(self) -> Any:
        """chainer.backends.cuda if there is a GPU."""
        cuda = self.module.backends.cuda
        return cuda if cuda.available and cuda.cupy.is_available() else None

    def device(self, model: Any) -> str:
        links = model.inside(self.module.Link)
        return "unknown" if not links else "cpu" if links[0].xp is np else "gpu"

    kernels_at_first = False

    def kernels_seen(self, model: Any) -> ContextManager[Set[str]]:
        return _recurrent_in_chainer()

    def default_kernel(self, model: Any) -> str:
        return recurrent.LOOP

    def wait(self, model: Any, outputs: Any = None) -> None:
        cuda = self._cuda()
        if cuda:
            cuda.Stream.null.synchronize()

    def pending(self, outputs: Any) -> Optional[Pending]:
        cuda = self._cuda()
        if not cuda:
            return None
        event = cuda.Event(block=True, disable_timing=True)  # one that does not spin
        event.record()
        return lambda: event.done, event.synchronize


@contextlib.contextmanager
def _recurrent_in_chainer() -> Iterator[Set[str]]:
    """While it is open, adds `fused` if Chainer computes a layer by cuDNN: elsewhere its own layers loop, too."""
    import chainer

    seen: Set[str] = set()

    class Noting(chainer.FunctionHook):
        name = "kbench-recurrent"

        def forward_preprocess(self, function: Any, in_data: Any) -> None:
            kind = function.__class__.__name__
            if kind.startswith("NStep") and chainer.backend.get_array_module(*in_data) is not chainer.backend.numpy:
                seen.add(recurrent.FUSED)

    with Noting():
        yield seen


class PyTorch(PyTorchMixin, AnyFramework):
    def device(self, model: Any) -> str:
        found = [value.device.type for value in model.inside(self.module.Tensor)]
        return {"cpu": "cpu", "cuda": "gpu"}.get(found[0], "unknown") if found else "unknown"


class JAX(AnyFramework):
    """And what is built on it. The weights of a step that is not done yet can be waited for."""

    def _leaves(self, *trees: Any) -> List[Any]:
        import jax

        return [leaf for leaf in jax.tree_util.tree_leaves(trees) if isinstance(leaf, jax.Array)]

    def device(self, model: Any) -> str:
        platforms = {device.platform for leaf in self._leaves(model.state()) for device in leaf.devices()}
        return "unknown" if not platforms else "cpu" if platforms == {"cpu"} else "gpu"

    def kernels_seen(self, model: Any) -> ContextManager[Set[str]]:
        return recurrent.called(recurrent.OF_JAX)

    def default_kernel(self, model: Any) -> str:
        return recurrent.UNROLLED

    def wait(self, model: Any, outputs: Any = None) -> None:
        import jax

        leaves = self._leaves(model.state(), outputs)
        if leaves:
            jax.block_until_ready(leaves)
        else:  # a model that JAX cannot look into
            super().wait(model, outputs)

    def pending(self, outputs: Any) -> Optional[Pending]:
        import jax

        leaves = self._leaves(outputs)

        def is_done() -> bool:
            return all(leaf.is_ready() for leaf in leaves)

        return is_done, functools.partial(jax.block_until_ready, leaves)


class TensorFlow2(TensorFlow2Mixin, AnyFramework):
    def device(self, model: Any) -> str:
        places = [value.device for value in model.inside(self.module.Variable)]
        return "unknown" if not places else "gpu" if "GPU" in places[0] else "cpu"

    def wait(self, model: Any, outputs: Any = None) -> None:
        self.module.test.experimental.sync_devices()


class MXNet(AnyFramework):
    def wait(self, model: Any, outputs: Any = None) -> None:
        self.module.nd.waitall()

    def pending(self, outputs: Any) -> Optional[Pending]:
        return None  # the loss has been read

    def device(self, model: Any) -> str:
        modules, blocks = model.inside(self.module.mod.Module), model.inside(self.module.gluon.Block)
        contexts = [context for module in modules for context in module._context]
        for block in blocks:
            contexts.extend(context for param in block.collect_params().values() for context in param.list_ctx())
        return contexts[0].device_type if contexts else "unknown"

    def kernels_compiled(self, model: Any) -> Set[str]:
        blocks = model.inside(self.module.gluon.HybridBlock)
        symbols = [block._cached_graph[1] for block in blocks if block._cached_graph]
        symbols.extend(module.symbol for module in model.inside(self.module.mod.Module))
        return recurrent.of_mxnet(symbols) if symbols else {recurrent.LOOP}  # it is not compiled


FRAMEWORKS = {
    "torch": PyTorch,
    "jax": JAX,
    "tensorflow": TensorFlow2,
    "tensorflow1": TensorFlow1,
    "mxnet": MXNet,
    "theano": Immediate,
    "cntk": CNTK,
    "chainer": Chainer,
    "caffe": Immediate,
    "caffe2": Caffe2,
}


def load(framework: str, module: str) -> AnyFramework:
    """The interface to a framework, by the name in the backend's file; `module` is what Python imports."""
    return FRAMEWORKS.get(framework, AnyFramework)(importlib.import_module(module))
