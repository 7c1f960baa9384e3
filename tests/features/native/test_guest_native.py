"""What a framework without Keras says of the device of a twin, and when its work there is done; on stand-ins."""

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

TWIN = "LAYERS = []\ndef build(weights, dropout, seed):\n    return MODEL\ndef weights(model):\n    return []\n"


@contextlib.contextmanager
def loaded(folder: Path, name: str, model: Any, **modules: Any) -> Iterator[tuple[Any, Any]]:
    """(the interface to the framework, a twin that is `model`), beside modules that answer so."""
    file = folder / "twin.py"
    file.write_text(TWIN)
    with (
        guest(folder, "kbench_native.framework", "kbench_native.twin") as (native, twins),
        mock.patch.dict(sys.modules, modules),
    ):
        twin = twins.Twin(str(file), True, 0)
        twin._file.MODEL = model
        twin.build([])
        yield native.load(name, next(iter(modules))), twin


def test_a_session_of_tensorflow_1_says_whether_it_has_a_gpu(tmp_path: Path) -> None:
    class Session:
        def __init__(self, *kinds: str) -> None:
            self.kinds = kinds

        def list_devices(self) -> list[Any]:
            return [SimpleNamespace(device_type=kind) for kind in self.kinds]

    tensorflow = SimpleNamespace(Session=Session)
    for kinds, device in ((("CPU", "XLA_CPU"), "cpu"), (("CPU", "XLA_GPU", "GPU"), "gpu"), ((), "unknown")):
        model = SimpleNamespace(session=Session(*kinds))
        with loaded(tmp_path, "tensorflow1", model, tensorflow=tensorflow) as (framework, twin):
            assert framework.device(twin) == device and framework.pending([]) is None


@pytest.mark.parametrize(("kind", "device"), [("CPU", "cpu"), ("GPU", "gpu")])
def test_cntk_has_one_device_for_all(tmp_path: Path, kind: str, device: str) -> None:
    chosen = SimpleNamespace(type=lambda: kind)
    cntk = SimpleNamespace(
        device=SimpleNamespace(use_default_device=lambda: chosen, DeviceKind=SimpleNamespace(CPU="CPU"))
    )
    with loaded(tmp_path, "cntk", SimpleNamespace(), cntk=cntk) as (framework, twin):
        assert framework.device(twin) == device and framework.pending([]) is None


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_mxnet_is_where_the_parameters_of_a_block_or_the_contexts_of_a_module_are(
    tmp_path: Path, device: str
) -> None:
    context = SimpleNamespace(device_type=device)

    class Block:
        def collect_params(self) -> dict[str, Any]:
            return {"weight": SimpleNamespace(list_ctx=lambda: [context])}

    class Module:
        _context = (context,)

    mxnet = SimpleNamespace(gluon=SimpleNamespace(Block=Block), mod=SimpleNamespace(Module=Module))
    for model, found in (
        (Block(), device),
        (Module(), device),
        (SimpleNamespace(net=Block()), device),
        (1, "unknown"),
    ):
        with loaded(tmp_path, "mxnet", model, mxnet=mxnet) as (framework, twin):
            assert framework.device(twin) == found


@pytest.mark.parametrize(("kinds", "device"), [((0, 0), "cpu"), ((1, 0), "gpu"), ((), "unknown")])
def test_caffe2_is_where_the_operators_of_its_nets_are(tmp_path: Path, kinds: tuple[int, ...], device: str) -> None:
    class ModelHelper:
        def __init__(self) -> None:
            operators = [SimpleNamespace(device_option=SimpleNamespace(device_type=kind)) for kind in kinds]
            self.net = SimpleNamespace(Proto=lambda: SimpleNamespace(op=operators))

    python = SimpleNamespace(
        core=SimpleNamespace(IsGPUDeviceType=lambda kind: kind == 1),
        model_helper=SimpleNamespace(ModelHelper=ModelHelper),
    )
    modules: dict[str, Any] = {"caffe2": SimpleNamespace(python=python), "caffe2.python": python}
    with loaded(tmp_path, "caffe2", SimpleNamespace(train=ModelHelper()), **modules) as (framework, twin):
        assert framework.device(twin) == device and framework.pending([]) is None


@pytest.mark.parametrize(
    ("installed", "there"), [(False, False), (True, False), (True, True)], ids=["no CuPy", "no GPU", "a GPU"]
)
def test_chainer_is_asked_by_events_where_it_has_a_gpu(tmp_path: Path, installed: bool, there: bool) -> None:
    class Link:
        xp = SimpleNamespace(__name__="cupy") if there else np

    # Without CuPy, Chainer's cuda.cupy is a bare object.
    cupy = SimpleNamespace(is_available=lambda: there) if installed else object()
    cuda = mock.Mock(available=installed, cupy=cupy)
    chainer = SimpleNamespace(Link=Link, backends=SimpleNamespace(cuda=cuda))
    with loaded(tmp_path, "chainer", Link(), chainer=chainer) as (framework, twin):
        assert framework.device(twin) == ("gpu" if there else "cpu")
        framework.wait(twin)
        assert cuda.Stream.null.synchronize.called is there
        found = framework.pending(("loss", "accuracy"))
        event = cuda.Event.return_value
        assert event.record.called is there
        if not there:
            assert found is None
            return
        is_done, wait = found
        for done in (False, True):
            event.done = done
            assert is_done() is done
        wait()
        event.synchronize.assert_called_once_with()


def test_a_framework_reports_its_threads_as_beside_keras(tmp_path: Path) -> None:
    torch = SimpleNamespace(get_num_threads=lambda: 3, get_num_interop_threads=lambda: 1)
    with loaded(tmp_path, "torch", SimpleNamespace(), torch=torch) as (framework, _):
        assert framework.threads() == {"intra_op": 3, "inter_op": 1}
