"""Which kernel computes recurrent layers, found in what frameworks call and in what they compile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from guest_modules import alone, guest

RECURRENT = alone("frameworks/recurrent")


def test_a_function_that_returns_is_noted_and_one_that_refuses_is_not() -> None:
    framework: Any = ModuleType("framework_of_this_test")
    framework.scan = lambda value: value + 1
    framework.fused = mock.Mock(side_effect=NotImplementedError, __name__="fused")
    scan = framework.scan
    functions = {("framework_of_this_test", name): name for name in ("scan", "fused", "missing")}
    with mock.patch.dict("sys.modules", framework_of_this_test=framework):
        with RECURRENT.called({**functions, ("no_framework", "scan"): "loop"}) as seen:
            assert framework.scan(1) == 2
            with pytest.raises(NotImplementedError):
                framework.fused()
        assert seen == {"scan"} and framework.scan is scan


def test_the_kinds_of_operations_of_a_graph_of_tensorflow_tell() -> None:
    assert RECURRENT.of_operations(["MatMul", "CudnnRNNV3"]) == {"fused"}
    assert RECURRENT.of_operations(["Enter", "Exit"]) == RECURRENT.of_operations(["StatelessWhile"]) == {"loop"}
    assert RECURRENT.of_operations(["MatMul", "Sigmoid"]) == set()


@pytest.mark.parametrize(("kinds", "kernel"), [(["Dot", "Scan"], "scan"), (["Dot"], "unrolled")])
def test_a_compiled_function_of_theano_scans_or_is_unrolled(kinds: list[str], kernel: str) -> None:
    nodes = [SimpleNamespace(op=type(kind, (), {})()) for kind in kinds]
    function = SimpleNamespace(maker=SimpleNamespace(fgraph=SimpleNamespace(apply_nodes=nodes)))
    assert RECURRENT.of_theano(function) == {kernel}


@pytest.mark.parametrize(
    ("kinds", "kernel"),
    [(["null", "RNN"], "fused"), (["_foreach"], "loop"), (["null", "FullyConnected"], "unrolled")],
)
def test_a_graph_of_mxnet_names_its_operators(kinds: list[str], kernel: str) -> None:
    symbol = SimpleNamespace(tojson=lambda: json.dumps({"nodes": [{"op": kind} for kind in kinds]}))
    assert RECURRENT.of_mxnet([symbol]) == {kernel}


class Answering:
    """A framework that shows these kernels, or raises."""

    def __init__(self, seen: set[str], compiled: set[str] | Exception, otherwise: str = "") -> None:
        self.seen, self.compiled, self.otherwise = seen, compiled, otherwise

    def is_recurrent(self, model: object) -> bool:
        return model is not None

    @contextmanager
    def kernels_seen(self, model: object) -> Iterator[set[str]]:
        yield self.seen

    def kernels_compiled(self, model: object) -> set[str]:
        if isinstance(self.compiled, Exception):
            raise self.compiled
        return self.compiled

    def default_kernel(self, model: object) -> str:
        return self.otherwise


@pytest.mark.parametrize(
    ("framework", "model", "told"),
    [
        (Answering({"fused"}, {"loop"}, "unrolled"), "model", ["fused, loop"]),
        (Answering(set(), set(), "unrolled"), "model", ["unrolled"]),
        (Answering(set(), set()), "model", []),
        (Answering({"fused"}, AttributeError("of another version")), "model", []),
        (Answering({"scan"}, set()), None, []),
    ],
)
def test_what_is_known_is_reported_once_and_nothing_else(
    tmp_path: Path, framework: Answering, model: object, told: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    events = mock.Mock()
    with guest(tmp_path, "training.recurrent_kernel") as (module,), module.reported(framework, model, events):
        assert not events.write.called
    assert [call.kwargs["recurrent_kernel"] for call in events.write.mock_calls] == told


def test_the_error_of_a_model_stays_its_own(tmp_path: Path) -> None:
    answering = Answering(set(), set())
    with (
        guest(tmp_path, "training.recurrent_kernel") as (module,),
        pytest.raises(ZeroDivisionError),
        module.reported(answering, "model", mock.Mock()),
    ):
        raise ZeroDivisionError
