"""Where the work really runs: asked of the framework itself, never assumed; and how to wait for it."""

import sys

import keras


def device_in_use(model):
    """'cpu' or 'gpu': where the framework keeps the model's weights or runs its operations.

    'unknown' for a framework that is not in the table below.
    """
    ask = _DEVICES.get(keras.backend.backend())
    return "unknown" if ask is None else ask(model)


def synchronise(model):
    """Return when all work on the device is done, so that the clock can be read.

    Needed where fit's logs can be there before the last update is; elsewhere reading them has waited already.
    """
    wait = _WAITS.get(keras.backend.backend())
    if wait is not None:
        wait(model)


def _tensorflow(model):
    import tensorflow

    if hasattr(model.weights[0], "value") and not callable(model.weights[0].value):
        name = model.weights[0].value.device  # Keras 3
    else:
        visible = keras.backend.get_session().list_devices()
        name = "GPU" if any(device.device_type == "GPU" for device in visible) else "CPU"
        name = name if tensorflow.test.is_built_with_cuda() else "CPU"
    return "gpu" if "GPU" in name else "cpu"


def _cntk(model):
    import cntk

    return "cpu" if cntk.device.use_default_device().type() == cntk.device.DeviceKind.CPU else "gpu"


def _theano(model):
    import theano

    return "cpu" if theano.config.device.startswith("cpu") else "gpu"


def _mxnet(model):
    contexts = getattr(model, "_context", None) or []
    if not contexts:  # a model that is not compiled runs where MXNet puts it
        import mxnet

        contexts = [mxnet.gpu(0) if mxnet.context.num_gpus() else mxnet.cpu()]
    return contexts[0].device_type


def _jax(model):
    platforms = {device.platform for device in model.weights[0].value.devices()}
    return "cpu" if platforms == {"cpu"} else "gpu"


def _torch(model):
    return "gpu" if model.weights[0].value.device.type == "cuda" else "cpu"


def _openvino(model):
    from keras.src.backend.openvino.core import get_device

    return "cpu" if get_device() == "CPU" else "gpu"


def _wait_jax(model):
    import jax

    jax.block_until_ready([weight.value for weight in model.weights])


def _wait_torch(model):
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _wait_mxnet(model):
    import mxnet

    mxnet.nd.waitall()


_DEVICES = {
    "tensorflow": _tensorflow,
    "cntk": _cntk,
    "theano": _theano,
    "mxnet": _mxnet,
    "jax": _jax,
    "torch": _torch,
    "openvino": _openvino,
}
_WAITS = {"jax": _wait_jax, "torch": _wait_torch, "mxnet": _wait_mxnet}


def peak_memory_mib():
    """The most memory that this process has held at once, in MiB; None where the system does not tell."""
    try:
        with open("/proc/self/status") as file:
            # Not getrusage: on Linux its figure begins with that of the process that started this one.
            return next(int(line.split()[1]) / 1024.0 for line in file if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2.0**20 if sys.platform == "darwin" else 2.0**10)
