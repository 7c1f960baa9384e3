"""Which kernel computes the recurrent layers of a model: seen as it runs or is traced, or read from its graph.

fused: a kernel of all time steps (cuDNN's, oneDNN's); scan: a loop that the framework compiles whole; loop: step by
step, by a loop of a graph or of Python; unrolled: a graph in which the steps stand one after another.
"""

import contextlib
import functools
import importlib
import json
from typing import Any, Callable, Dict, Iterable, Iterator, List, Set, Tuple

FUSED, SCAN, LOOP, UNROLLED = "fused", "scan", "loop", "unrolled"

LAYERS = ("RNN", "SimpleRNN", "LSTM", "GRU", "CuDNNLSTM", "CuDNNGRU", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D")

# What a framework calls for all time steps: module, function -> kernel.
OF_JAX = {
    ("jax.lax", "scan"): SCAN, ("jax.lax", "while_loop"): LOOP, ("jax.lax", "fori_loop"): LOOP,
    ("jax.experimental.rnn", "lstm"): FUSED,
}  # fmt: skip
OF_OPENVINO = {("openvino.opset16", "loop"): LOOP}
FUSED_OF_TORCH = ("aten::_cudnn_rnn", "aten::mkldnn_rnn_layer", "aten::miopen_rnn")  # below its own LSTM and GRU


@contextlib.contextmanager
def called(functions: Dict[Tuple[str, str], str]) -> Iterator[Set[str]]:
    """While it is open, adds the kernel of each of these functions that returns."""
    seen: Set[str] = set()
    put_back: List[Tuple[Any, str, Any]] = []
    for (module, name), kernel in functions.items():
        with contextlib.suppress(ImportError, AttributeError):  # not of this version
            holder = importlib.import_module(module)
            original = getattr(holder, name)
            setattr(holder, name, _noting(original, kernel, seen))
            put_back.append((holder, name, original))
    try:
        yield seen
    finally:
        for holder, name, original in put_back:
            setattr(holder, name, original)


def _noting(function: Callable[..., Any], kernel: str, seen: Set[str]) -> Callable[..., Any]:
    @functools.wraps(function)
    def noting(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        seen.add(kernel)
        return result

    return noting


@contextlib.contextmanager
def in_tensorflow_functions() -> Iterator[Set[str]]:
    """While it is open, adds the kernels of the functions that TensorFlow 2 traces."""
    from tensorflow.python.framework.func_graph import FuncGraph

    seen: Set[str] = set()
    create = FuncGraph._create_op_internal

    @functools.wraps(create)
    def noting(graph: Any, op_type: str, *args: Any, **kwargs: Any) -> Any:
        seen.update(of_operations([op_type]))
        return create(graph, op_type, *args, **kwargs)

    FuncGraph._create_op_internal = noting
    try:
        yield seen
    finally:
        FuncGraph._create_op_internal = create


@contextlib.contextmanager
def in_torch() -> Iterator[Set[str]]:
    """While it is open, adds `fused` if PyTorch calls a kernel for a whole layer. Each operation takes longer."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: Set[str] = set()

    class Noting(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function._schema.name in FUSED_OF_TORCH:
                seen.add(FUSED)
            return function(*args, **(kwargs or {}))

    with Noting():
        yield seen


def of_operations(kinds: Iterable[str]) -> Set[str]:
    """The kernels among the kinds of operations of a graph of TensorFlow's."""
    found = set()
    for kind in kinds:
        if kind.startswith("CudnnRNN"):
            found.add(FUSED)
        elif kind in ("Enter", "While", "StatelessWhile"):
            found.add(LOOP)
    return found


def of_theano(function: Any) -> Set[str]:
    """The kernels in a compiled function of Theano's."""
    kinds = {node.op.__class__.__name__ for node in function.maker.fgraph.apply_nodes}
    return {kernel for kernel, kind in ((SCAN, "Scan"), (FUSED, "GpuDnnRNNOp")) if kind in kinds} or {UNROLLED}


def of_cntk(outputs: Iterable[Any]) -> Set[str]:
    """The kernels in the graphs of CNTK's that give these outputs."""
    from cntk.logging.graph import depth_first_search

    kinds = {
        node.op_name
        for output in outputs
        for node in depth_first_search(output, lambda node: hasattr(node, "op_name"), -1)
    }
    fused = {FUSED} if "OptimizedRNNStack" in kinds else set()
    return fused | ({LOOP} if kinds & {"PastValue", "FutureValue"} else set()) or {UNROLLED}


def of_mxnet(symbols: Iterable[Any]) -> Set[str]:
    """The kernels in graphs of MXNet's."""
    found = set()
    for symbol in symbols:
        kinds = {node["op"] for node in json.loads(symbol.tojson())["nodes"]}
        found.update([FUSED] if "RNN" in kinds else [])
        found.update([LOOP] if kinds & {"_foreach", "_while_loop"} else [])
    return found or {UNROLLED}
