"""Frameworks without Keras: on which device a twin's model is, and when its work there is done."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from guest_modules import guest


@contextlib.contextmanager
def loaded(folder: Path, name: str, module: Any, **modules: Any) -> Iterator[Any]:
    """The interface to the framework `name`, whose module is `module`."""
    with guest(folder, "keras"), mock.patch.dict(sys.modules, {name: module, **modules}):
        yield __import__("kbench_guest.frameworks.native").frameworks.native.load(name, name)


class Holding:
    """A twin that holds these objects."""

    def __init__(self, *held: Any) -> None:
        self._held = held

    def inside(self, kind: Any) -> list[Any]:
        return [one for one in self._held if isinstance(one, kind)]


class Link:
    def __init__(self, xp: Any) -> None:
        self.xp = xp


def chainer(gpu: bool) -> Any:
    found = mock.Mock(Link=Link)
    found.backends.cuda.available = gpu
    found.backends.cuda.cupy.is_available.return_value = gpu
    return found


def test_a_chainer_model_is_where_its_arrays_are(tmp_path: Path) -> None:
    with loaded(tmp_path, "chainer", chainer(gpu=True)) as framework:
        assert framework.device(Holding(Link(np))) == "cpu"
        assert framework.device(Holding(Link(mock.Mock()))) == "gpu"
        assert framework.device(Holding()) == "unknown"


@pytest.mark.parametrize("gpu", [False, True])
def test_chainer_is_asked_by_events_where_it_has_a_gpu(tmp_path: Path, gpu: bool) -> None:
    module = chainer(gpu)
    cuda = module.backends.cuda
    with loaded(tmp_path, "chainer", module) as framework:
        pending = framework.pending((1.0, 1.0))
        framework.wait(None)
    event = cuda.Event.return_value
    assert event.record.called is cuda.Stream.null.synchronize.called is gpu
    if gpu:
        is_done, wait = pending
        event.done = False
        assert not is_done()
        event.done = True
        assert is_done()
        wait()
        event.synchronize.assert_called_once_with()
    else:
        assert pending is None


@pytest.mark.parametrize(("kind", "device"), [(0, "cpu"), (1, "gpu")])
def test_cntk_is_asked_for_its_default_device(tmp_path: Path, kind: int, device: str) -> None:
    module = mock.Mock()
    module.device.DeviceKind.CPU = 0
    module.device.use_default_device.return_value.type.return_value = kind
    with loaded(tmp_path, "cntk", module) as framework:
        assert framework.device(Holding()) == device


class Module:
    def __init__(self, device: str) -> None:
        self._context = [SimpleNamespace(device_type=device)]


class Block:
    def __init__(self, device: str) -> None:
        self._param = SimpleNamespace(list_ctx=lambda: [SimpleNamespace(device_type=device)])

    def collect_params(self) -> dict[str, Any]:
        return {"weight": self._param}


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_mxnets_contexts_are_those_of_its_module_or_block(tmp_path: Path, device: str) -> None:
    module = SimpleNamespace(mod=SimpleNamespace(Module=Module), gluon=SimpleNamespace(Block=Block))
    with loaded(tmp_path, "mxnet", module) as framework:
        assert framework.device(Holding(Module(device))) == framework.device(Holding(Block(device))) == device
        assert framework.device(Holding()) == "unknown"


@pytest.mark.parametrize(("kinds", "device"), [(["CPU"], "cpu"), (["CPU", "GPU"], "gpu")])
def test_tensorflow_1_computes_on_the_devices_of_its_session(tmp_path: Path, kinds: list[str], device: str) -> None:
    class Session:
        def list_devices(self) -> list[Any]:
            return [SimpleNamespace(device_type=kind) for kind in kinds]

    with loaded(tmp_path, "tensorflow1", SimpleNamespace(Session=Session)) as framework:
        assert framework.device(Holding(Session())) == device
        assert framework.device(Holding()) == "unknown"


class ModelHelper:
    def __init__(self, *devices: int) -> None:
        operators = [SimpleNamespace(device_option=SimpleNamespace(device_type=one)) for one in devices]
        self.net = SimpleNamespace(Proto=lambda: SimpleNamespace(op=operators))


@pytest.mark.parametrize(("devices", "device"), [((0, 0), "cpu"), ((0, 1), "gpu")])
def test_a_caffe2_net_is_where_its_operators_are(tmp_path: Path, devices: tuple[int, ...], device: str) -> None:
    core, helper = mock.Mock(IsGPUDeviceType=lambda kind: kind == 1), mock.Mock(ModelHelper=ModelHelper)
    python = mock.Mock(core=core, model_helper=helper)
    modules = {"caffe2.python": python, "caffe2.python.core": core, "caffe2.python.model_helper": helper}
    with loaded(tmp_path, "caffe2", mock.Mock(python=python), **modules) as framework:
        assert framework.device(Holding(ModelHelper(*devices))) == device
        assert framework.device(Holding()) == "unknown"
