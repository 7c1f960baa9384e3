"""A model that Keras has exported, run by a runtime without Keras: ONNX, OpenVINO's own format, TensorFlow Lite."""

import importlib
import operator
import os
import re
import tempfile
from typing import Any, Callable, Dict, List, Optional, Tuple

import keras
import numpy as np

from kbench_guest import arrays
from kbench_guest.frameworks import keras3
from kbench_guest.frameworks.interface import DoneOnReturn
from kbench_guest.protocol import Refused

Named = Dict[str, np.ndarray]


class Runtime:
    """What runs an exported file. module: the package; path: the file; threads: how many it may use."""

    ending = ""  # of the file

    def __init__(self, module: Any, path: str, threads: int) -> None:
        raise NotImplementedError

    def run(self, inputs: Named) -> List[np.ndarray]:
        """The outputs for a batch, in the model's order; inputs: by their names in the model."""
        raise NotImplementedError

    def threads(self) -> Dict[str, Any]:
        """As in interface.py."""
        return {}


class ONNX(Runtime):
    ending = ".onnx"

    def __init__(self, module: Any, path: str, threads: int) -> None:
        options = module.SessionOptions()
        options.intra_op_num_threads = self._threads = threads
        self._session = module.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._names = [one.name for one in self._session.get_inputs()]
        self._outputs = [one.name for one in self._session.get_outputs()]

    def run(self, inputs: Named) -> List[np.ndarray]:
        return self._session.run(self._outputs, _renamed(inputs, self._names))

    def threads(self) -> Dict[str, Any]:
        return {"intra_op": self._threads}


class OpenVINO(Runtime):
    ending = ".xml"

    def __init__(self, module: Any, path: str, threads: int) -> None:
        settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": str(threads)}
        self._compiled = module.Core().compile_model(path, "CPU", settings)
        self._names = [one.get_any_name() for one in self._compiled.inputs]
        # Beside the model's own outputs, there may be some of operations that nothing uses.
        named = {
            name: one for one in self._compiled.outputs for name in one.get_names() if name.startswith("Identity")
        }
        self._outputs = [named[name] for name in sorted(named, key=_number)] or self._compiled.outputs

    def run(self, inputs: Named) -> List[np.ndarray]:
        found = self._compiled(_renamed(inputs, self._names))
        return [found[one] for one in self._outputs]

    def threads(self) -> Dict[str, Any]:
        return {"intra_op": self._compiled.get_property("INFERENCE_NUM_THREADS")}


class Lite(Runtime):
    """TensorFlow Lite, which Google now calls LiteRT."""

    ending = ".tflite"

    def __init__(self, module: Any, path: str, threads: int) -> None:
        interpreter = importlib.import_module(module.__name__ + ".interpreter").Interpreter
        self._run = interpreter(
            path, num_threads=threads
        ).get_signature_runner()  # the interpreter's lists are unordered
        self._names = list(self._run.get_input_details())
        self._outputs = sorted(self._run.get_output_details(), key=_number)

    def run(self, inputs: Named) -> List[np.ndarray]:
        found = self._run(**_renamed(inputs, self._names))
        return [found[name] for name in self._outputs]


def _renamed(inputs: Named, names: List[str]) -> Named:
    """Inputs by the runtime's names, which are the model's but where there is only one."""
    return dict(zip(names, inputs.values())) if len(names) == 1 else inputs


def _number(name: str) -> int:
    """The place that `args_1`, `output_1` or `Identity_1:0` stands for."""
    last = name.partition(":")[0].rpartition("_")[2]
    return int(last) if last.isdigit() else 0


def _reason(text: str) -> str:
    """The line of an error that says most: OpenVINO's first ones only say where its code failed."""
    of_openvino = re.search(r"No conversion rule.*", text)
    return of_openvino.group() if of_openvino else (text.strip().splitlines() or [""])[0]


FORMATS = {"onnx": ONNX, "openvino": OpenVINO, "litert": Lite}


class ExportedModel:
    """An exported model, with the methods that kbench calls of a Keras model."""

    def __init__(self, made: Any, runtime: Runtime) -> None:
        self.weights, self.trainable_weights = made.weights, made.trainable_weights
        self.runtime = runtime
        self._dtypes = {one.name: str(one.dtype) for one in made.inputs}
        self.predict_function: Callable[..., Any] = self._predict_batch

    def predict(self, x: Any, batch_size: int, verbose: int = 0) -> Any:
        """Outputs for all inputs, which fill whole batches."""
        found = [self.predict_on_batch(one) for one in _batches(x, batch_size)]
        several = isinstance(found[0], list)
        return [np.concatenate(one) for one in zip(*found)] if several else np.concatenate(found)

    def predict_on_batch(self, x: Any) -> Any:
        """Outputs for one batch."""
        outputs = self.predict_function(x)
        return outputs if len(outputs) > 1 else outputs[0]

    def _predict_batch(self, x: Any) -> List[np.ndarray]:
        given = x if isinstance(x, dict) else dict(zip(self._dtypes, arrays.leaves(x)))
        return self.runtime.run({name: np.asarray(given[name], dtype) for name, dtype in self._dtypes.items()})


def _batches(x: Any, batch_size: int) -> List[Any]:
    parts = [slice(at, at + batch_size) for at in range(0, len(arrays.leaves(x)[0]), batch_size)]
    return [arrays.mapped(operator.itemgetter(part), x) for part in parts]


class Exported(DoneOnReturn, keras3.Keras3):
    """The Keras that makes and exports the model, and the runtime that runs it. spec: the cell's."""

    def __init__(self, spec: Dict[str, Any]) -> None:
        super().__init__()
        self._format, self._threads = spec["framework"], spec["threads"]
        self._runs = importlib.import_module(spec["module"])
        self._runtime: Optional[Runtime] = None

    def versions(self) -> Tuple[str, str]:
        return keras.__version__, getattr(self._runs, "__version__", "")

    def export(self, made: Any, inputs: Any) -> ExportedModel:
        """The Keras model in the runtime; inputs: a batch. Raises Refused if Keras or the runtime cannot do that."""
        if self._format not in FORMATS:
            raise Refused("unsupported", f"the format {self._format} is not known")
        of_format = FORMATS[self._format]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model" + of_format.ending)
            try:
                made(inputs)  # Keras does not export a model as ONNX that was never called
                made.export(path, format=self._format, verbose=False)
                self._runtime = of_format(self._runs, path, self._threads)
                model = ExportedModel(made, self._runtime)
                found = len(arrays.leaves(model.predict_on_batch(inputs)))
            except Exception as error:
                why = f"{type(error).__name__}: {_reason(str(error))}"
                raise Refused("unsupported", f"its model cannot be run as {self._format}: {why}") from error
        if found != len(made.outputs):
            raise Refused("unsupported", f"as {self._format} its model has {found} outputs")
        return model

    def is_recurrent(self, model: Any) -> bool:
        return False  # which kernel computes its layers is the runtime's business, and cannot be seen

    def step_hook(self, model: Any, kind: str, wrap: Callable[..., Any]) -> None:
        model.predict_function = wrap(model.predict_function)

    def device(self, model: Any) -> str:
        return "cpu"

    def settings_of_model(self, model: Any) -> Dict[str, Any]:
        return {}

    def threads(self) -> Dict[str, Any]:
        return self._runtime.threads() if self._runtime else {}
