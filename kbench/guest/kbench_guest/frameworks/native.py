"""Frameworks without Keras: what each does in its own way, and answers that hold for one that nobody knows."""

import functools
import importlib
import random

import numpy as np

from kbench_guest.frameworks.interface import DoneOnReturn, Framework, OnPyTorch, OnTensorFlow2


class AnyFramework(Framework):
    """A twin's framework; its models are those of drivers/twin.py.

    Until somebody knows better, its work is done when its weights have been copied, and no step is timed alone.
    """

    def __init__(self, module):
        self.module = module

    def versions(self):
        return "", str(getattr(self.module, "__version__", ""))

    def seed(self, number):
        """A twin seeds its framework by itself: `build` is given the seed."""
        random.seed(number)
        np.random.seed(number)

    def wait(self, model, outputs=None):
        model.weights()

    def step_hook(self, model, kind, wrap):
        name = kind + "_function"
        setattr(model, name, wrap(getattr(model, name)))

    def train_epoch(self, model, epoch, given, clock, callbacks):
        x, y, size = given["x"], given["y"], given["batch_size"]
        reported = []
        clock.begin(epoch)
        for start in range(0, len(y), size):
            reported.append(model.train_function(x[start : start + size], y[start : start + size]))
        clock.finish(epoch)
        loss, accuracy = np.mean([[float(one) for one in step] for step in reported], axis=0)
        return {"loss": loss, "accuracy": accuracy}


class Immediate(DoneOnReturn, AnyFramework):
    """On the CPU, a step's work is done when it returns."""


class PyTorch(OnPyTorch, AnyFramework):
    def device(self, model):
        found = [value.device.type for value in model.inside(self.module.Tensor)]
        return {"cpu": "cpu", "cuda": "gpu"}.get(found[0], "unknown") if found else "unknown"


class JAX(AnyFramework):
    """And what is built on it. The weights of a step that is not done yet can be waited for."""

    def _leaves(self, *trees):
        import jax

        leaves = jax.tree_util.tree_leaves(trees)
        return [leaf for leaf in leaves if isinstance(leaf, jax.Array)]

    def device(self, model):
        platforms = {device.platform for leaf in self._leaves(model.state()) for device in leaf.devices()}
        return "unknown" if not platforms else "cpu" if platforms == {"cpu"} else "gpu"

    def wait(self, model, outputs=None):
        import jax

        leaves = self._leaves(model.state(), outputs)
        if leaves:
            jax.block_until_ready(leaves)
        else:  # a model that JAX cannot look into
            super(JAX, self).wait(model, outputs)

    def pending(self, outputs):
        import jax

        leaves = self._leaves(outputs)

        def is_done():
            return all(leaf.is_ready() for leaf in leaves)

        return is_done, functools.partial(jax.block_until_ready, leaves)


class TensorFlow2(OnTensorFlow2, AnyFramework):
    def device(self, model):
        places = [value.device for value in model.inside(self.module.Variable)]
        return "unknown" if not places else "gpu" if "GPU" in places[0] else "cpu"

    def wait(self, model, outputs=None):
        self.module.test.experimental.sync_devices()


class MXNet(AnyFramework):
    def device(self, model):
        return "gpu" if self.module.context.num_gpus() else "cpu"

    def wait(self, model, outputs=None):
        self.module.nd.waitall()

    def pending(self, outputs):
        return None  # the loss has been read


FRAMEWORKS = {
    "torch": PyTorch,
    "jax": JAX,
    "tensorflow": TensorFlow2,
    "tensorflow1": Immediate,  # a session's run returns numbers, and so do the functions of those below
    "mxnet": MXNet,
    "theano": Immediate,
    "cntk": Immediate,
    "chainer": Immediate,
    "caffe": Immediate,
    "caffe2": Immediate,
}


def load(framework, module):
    """The interface to a framework, by the name in the backend's file; `module` is what Python imports."""
    return FRAMEWORKS.get(framework, AnyFramework)(importlib.import_module(module))
