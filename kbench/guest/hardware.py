"""Where the work really runs: asked of the framework itself, never assumed; and how to wait for it."""

import functools
import sys
import traceback

import keras


def device_in_use(model):
    """'cpu' or 'gpu': where the framework keeps the model's weights or runs its operations.

    'unknown' for a framework that is not in the table below.
    """
    ask = _DEVICES.get(keras.backend.backend())
    return "unknown" if ask is None else ask(model)


def keep_float32():
    """Let OpenVINO compute in float32, as the others do: on a processor that has bfloat16 it takes that by itself."""
    if keras.backend.backend() != "openvino":
        return
    import openvino

    compile_model = openvino.compile_model

    def in_float32(model, device_name="AUTO", config=None):
        return compile_model(model, device_name, dict(config or {}, INFERENCE_PRECISION_HINT="f32"))

    openvino.compile_model = in_float32


def synchronise(model, outputs=None):
    """Return when all work on the device is done, so that the clock can be read.

    outputs: what the model's function has just returned, where fit is still under way: its weights may be nowhere
    else by then. Needed where fit's logs can be there before the last update is; elsewhere reading them has waited.
    """
    wait = _WAITS.get(keras.backend.backend())
    if wait is not None:
        wait(model, outputs)


def running(outputs):
    """(is_done, wait) of the step that gave these outputs, two functions; None where they are there already.

    is_done tells whether its work on the device is done; wait returns when it is, and waits for nothing begun later.
    """
    ask = _RUNNING.get(keras.backend.backend())
    return None if ask is None else ask(outputs)


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


def _wait_tensorflow(model, outputs):
    import tensorflow

    # At the end of an epoch the logs have been read, and a session of TensorFlow 1 returns what it has waited for.
    if outputs is not None and hasattr(keras, "ops"):
        tensorflow.test.experimental.sync_devices()


def _wait_jax(model, outputs):
    import jax

    jax.block_until_ready([weight.value for weight in model.weights] if outputs is None else outputs)


def _wait_torch(model, outputs):
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _wait_mxnet(model, outputs):
    import mxnet

    mxnet.nd.waitall()


def _running_jax(outputs):
    import jax

    results, _ = outputs  # the state is handed on to the next step and can be waited for no more
    arrays = jax.tree_util.tree_leaves(results)

    def is_done():
        return all(array.is_ready() for array in arrays)

    return is_done, functools.partial(jax.block_until_ready, arrays)


def _running_torch(outputs):
    import torch

    if not torch.cuda.is_available():
        return None
    event = torch.cuda.Event(blocking=True)  # one that does not spin
    event.record()
    return event.query, event.synchronize


def _peak_tensorflow(model):
    import tensorflow

    if hasattr(keras, "ops"):  # Keras 3
        return tensorflow.config.experimental.get_memory_info("GPU:0")["peak"]
    with tensorflow.device("/gpu:0"):
        peak = tensorflow.contrib.memory_stats.MaxBytesInUse()
    return int(keras.backend.get_session().run(peak))


def _peak_jax(model):
    (device,) = model.weights[0].value.devices()
    return (device.memory_stats() or {}).get("peak_bytes_in_use")


def _peak_torch(model):
    import torch

    return torch.cuda.max_memory_allocated()


_DEVICES = {
    "tensorflow": _tensorflow,
    "cntk": _cntk,
    "theano": _theano,
    "mxnet": _mxnet,
    "jax": _jax,
    "torch": _torch,
    "openvino": _openvino,
}
_WAITS = {"tensorflow": _wait_tensorflow, "jax": _wait_jax, "torch": _wait_torch, "mxnet": _wait_mxnet}
_ALLOCATORS = {"tensorflow": _peak_tensorflow, "jax": _peak_jax, "torch": _peak_torch}
_RUNNING = {"jax": _running_jax, "torch": _running_torch}


def allocator_peak_mib(model):
    """The most that the framework's own allocator had given out at once on the model's GPU, in MiB.

    None on the CPU, and for a framework that does not tell.
    """
    ask = _ALLOCATORS.get(keras.backend.backend())
    if ask is None or device_in_use(model) != "gpu":
        return None
    try:
        peak = ask(model)
    except Exception:  # all is measured by then, and a cell shall not fail for this
        traceback.print_exc()
        return None
    return None if peak is None else peak / 2.0**20


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
