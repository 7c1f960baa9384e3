"""Each framework answers for itself, and one that nobody knows gets the general answers."""

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

GPU = SimpleNamespace(weights=[])


@contextlib.contextmanager
def loaded(folder: Path, backend: str, generation: int = 3, **modules: Any) -> Iterator[Any]:
    """The interface to this backend, beside modules that answer so."""
    with (
        guest(folder, "keras", backend=backend) as (keras,),
        mock.patch.object(keras, "__version__", f"{generation}.9"),
        mock.patch.dict(sys.modules, modules),
    ):
        yield __import__("kbench_guest.frameworks").frameworks.load()


def allocator_peak(
    folder: Path, name: str, model: Any, place: str = "gpu", generation: int = 3, **modules: Any
) -> Any:
    with loaded(folder, name, generation, **modules) as framework:
        framework.device = lambda _: place
        return framework.allocator_peak_mib(model)


def test_a_frameworks_allocator_is_asked_for_its_peak_on_a_gpu(tmp_path: Path) -> None:
    torch = SimpleNamespace(cuda=SimpleNamespace(max_memory_allocated=lambda: 3 << 20))
    assert allocator_peak(tmp_path, "torch", GPU, torch=torch) == 3.0
    device = mock.Mock(memory_stats=lambda: {"peak_bytes_in_use": 5 << 20})
    weight = SimpleNamespace(value=SimpleNamespace(devices=lambda: {device}))
    assert allocator_peak(tmp_path, "jax", SimpleNamespace(weights=[weight])) == 5.0
    info = mock.Mock(return_value={"current": 1, "peak": 7 << 20})
    tf2 = SimpleNamespace(config=SimpleNamespace(experimental=SimpleNamespace(get_memory_info=info)))
    assert allocator_peak(tmp_path, "tensorflow", GPU, tensorflow=tf2) == 7.0
    info.assert_called_once_with("GPU:0")


def test_a_framework_reports_its_threads(tmp_path: Path) -> None:
    torch = SimpleNamespace(get_num_threads=lambda: 3, get_num_interop_threads=lambda: 1)
    with loaded(tmp_path, "torch", torch=torch) as framework:
        assert framework.threads() == {"intra_op": 3, "inter_op": 1}


def test_tensorflow_1_is_asked_in_its_session(tmp_path: Path) -> None:
    tf1 = mock.MagicMock()
    session = SimpleNamespace(run=lambda asked: 9 << 20 if asked is tf1.contrib.memory_stats.MaxBytesInUse() else 0)
    with loaded(tmp_path, "tensorflow", 2, tensorflow=tf1) as framework:
        backend: Any = sys.modules["keras.backend"]
        framework.device = lambda _: "gpu"
        with mock.patch.object(backend, "get_session", lambda: session, create=True):
            assert framework.allocator_peak_mib(GPU) == 9.0
    tf1.device.assert_called_once_with("/gpu:0")


def test_on_the_cpu_and_without_an_answer_there_is_no_allocators_peak(tmp_path: Path) -> None:
    torch = SimpleNamespace(cuda=SimpleNamespace(max_memory_allocated=lambda: 3 << 20))
    assert allocator_peak(tmp_path, "torch", GPU, "cpu", torch=torch) is None
    assert allocator_peak(tmp_path, "theano", GPU, generation=2) is None
    failing = SimpleNamespace()
    assert allocator_peak(tmp_path, "torch", GPU, torch=failing) is None, "one that fails does not fail the cell"
    device = mock.Mock(memory_stats=lambda: None)
    weight = SimpleNamespace(value=SimpleNamespace(devices=lambda: {device}))
    assert allocator_peak(tmp_path, "jax", SimpleNamespace(weights=[weight])) is None


def test_openvino_is_kept_from_bfloat16_and_no_other_is_changed(tmp_path: Path) -> None:
    compile_model = mock.Mock()
    openvino = SimpleNamespace(compile_model=compile_model)
    with loaded(tmp_path, "jax", openvino=openvino) as framework:
        framework.prepare()
        assert openvino.compile_model is compile_model
    with loaded(tmp_path, "openvino", openvino=openvino) as framework:
        framework.prepare()
        compiled = openvino.compile_model("model", "CPU")  # as Keras calls it
    assert compiled is compile_model.return_value
    compile_model.assert_called_once_with("model", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


@pytest.mark.parametrize("generation", [1, 4])
def test_a_generation_of_keras_that_nobody_knows_is_not_driven_as_another(tmp_path: Path, generation: int) -> None:
    with (
        pytest.raises(Exception, match=rf"^Keras {generation}\.9 is not known: kbench measures Keras 2 and Keras 3$"),
        loaded(tmp_path, "jax", generation),
    ):
        pass


FOR_ALL = "interface keras_models layer_settings layers optimizers recurrent trials workers"


@pytest.mark.parametrize(
    ("generation", "backend", "files"),
    [
        (2, "tensorflow", "keras2 keras2_tensorflow trials_of_keras2"),
        (2, "cntk", "keras2 keras2_cntk trials_of_keras2"),
        (2, "theano", "keras2 keras2_theano theano_headers trials_of_keras2"),
        (2, "mxnet", "keras2 keras2_mxnet trials_of_keras2"),
        (2, "brandnew", "keras2 trials_of_keras2"),
        (3, "tensorflow", "keras3 keras3_tensorflow tensorflow2 trials_of_keras3"),
        (3, "jax", "keras3 keras3_jax trials_of_keras3"),
        (3, "torch", "keras3 keras3_torch pytorch trials_of_keras3"),
        (3, "openvino", "keras3 keras3_openvino trials_of_keras3"),
        (3, "brandnew", "keras3 trials_of_keras3"),
    ],
)
def test_a_backend_loads_what_it_needs_and_nothing_of_another(
    tmp_path: Path, generation: int, backend: str, files: str
) -> None:
    with loaded(tmp_path, backend, generation):
        folder = "kbench_guest.frameworks."
        found = {name[len(folder) :] for name in sys.modules if name.startswith(folder)}
    assert found == {*FOR_ALL.split(), *files.split()}


class Layer:
    """As Keras 3 has one: what is put into it stands in its attributes."""

    def __init__(self, **parts: Any) -> None:
        vars(self).update(parts)


@pytest.mark.parametrize(
    ("generation", "expected"), [(2, "outer nested"), (3, "outer nested first second third inner")]
)
def test_the_layers_of_a_model_are_found_by_what_is_public(tmp_path: Path, generation: int, expected: str) -> None:
    first, second, third, inner = (Layer(name=name) for name in ("first", "second", "third", "inner"))
    nested = Layer(name="nested", layers=[inner, first], _functional=Layer(name="again", layers=[inner]))
    outer = Layer(name="outer", listed=[first, (second, 1)], named={"a": third}, other="text")
    model = Layer(name="model", layers=[outer, nested])
    outer.model = model  # type: ignore[attr-defined]
    with loaded(tmp_path, "jax", generation), mock.patch.object(sys.modules["keras.layers"], "Layer", Layer):
        layers = __import__("kbench_guest.frameworks.layers").frameworks.layers
        names = [layer.name for layer in layers.every_layer(model)]
    assert sorted(names) == sorted(expected.split())


def test_what_returns_when_it_is_done_has_nothing_pending(tmp_path: Path) -> None:
    with loaded(tmp_path, "theano", 2) as framework:
        assert framework.pending(["logs"]) is None


def test_what_returns_early_is_seen_by_its_outputs_alone(tmp_path: Path) -> None:
    loss, accuracy = mock.Mock(), mock.Mock()
    jax = mock.Mock(tree_util=SimpleNamespace(tree_leaves=lambda logs: list(logs.values())))
    with loaded(tmp_path, "jax", jax=jax) as framework:
        # The state is gone when the next step has begun.
        is_done, wait = framework.pending(({"loss": loss, "accuracy": accuracy}, "state"))
        for first, second in ((True, False), (False, True), (True, True)):
            loss.is_ready.return_value, accuracy.is_ready.return_value = first, second
            assert is_done() is (first and second)
        jax.block_until_ready.assert_not_called()
        wait()
        jax.block_until_ready.assert_called_once_with([loss, accuracy])


def test_what_returns_early_is_waited_for_unless_a_later_step_has_taken_it_over(tmp_path: Path) -> None:
    there, gone = (mock.Mock(is_deleted=lambda deleted=deleted: deleted) for deleted in (False, True))
    jax = mock.Mock(tree_util=SimpleNamespace(tree_leaves=list))
    with loaded(tmp_path, "jax", jax=jax) as framework:
        framework.wait("model", [there, gone])
        jax.block_until_ready.assert_called_once_with([there])
        framework.wait(SimpleNamespace(weights=[SimpleNamespace(value=there)]))
        assert jax.block_until_ready.call_count == 2


@pytest.mark.parametrize("available", [False, True])
def test_pytorch_is_asked_by_events_where_it_has_a_gpu(tmp_path: Path, available: bool) -> None:
    torch = mock.Mock()
    torch.cuda.is_available.return_value = available
    with loaded(tmp_path, "torch", torch=torch) as framework:
        found = framework.pending({"loss": 1.0})
    event = torch.cuda.Event.return_value
    assert found == ((event.query, event.synchronize) if available else None)
    assert event.record.called is available


@pytest.mark.parametrize(("names", "device"), [(["llvm_cpu.0"], "cpu"), (["opencl_nvidia_tesla_t4.0"], "gpu")])
def test_a_framework_with_a_file_of_its_own_answers_for_itself(tmp_path: Path, names: list[str], device: str) -> None:
    """Keras names a module of it, whose version is that of its package."""
    plaidml = SimpleNamespace(__version__="0.7.0", settings=SimpleNamespace(device_ids=names))
    with loaded(tmp_path, "plaidml.keras.backend", 2, plaidml=plaidml) as framework:
        assert framework.versions()[1] == "0.7.0" and framework.device(None) == device
        assert framework.pending(["logs"]) is None
    with loaded(tmp_path, "numpy") as framework:
        assert framework.versions()[1] == np.__version__ and framework.device(None) == "cpu"


def test_what_updates_in_place_computes_all_new_values_before_it_copies_any(tmp_path: Path) -> None:
    done: list[Any] = []

    def function(inputs: Any, outputs: Any, updates: Any = None) -> Any:
        """Updates one after another, and reads what is new."""

        def call(given: Any) -> Any:
            for place, value in updates or ():
                place["value"] = value()
            done.append(given)
            return outputs

        return call

    weight, count = {"value": 1.0}, {"value": 5.0}
    backend: dict[str, Any] = {
        "function": function,
        "variable": lambda value, dtype: {"value": value},
        "get_value": lambda one: one["value"],
        "dtype": lambda one: "float32",
        "identity": lambda one: lambda: one["value"],
    }
    plaidml = SimpleNamespace(__version__="0.7.0")
    with loaded(tmp_path, "plaidml.keras.backend", 2, plaidml=plaidml) as framework:
        K: Any = sys.modules["keras.backend"]
        with mock.patch.multiple(K, create=True, **backend):
            framework.order_updates(None)
            framework.order_updates(None)  # of another model
            updates = [(count, lambda: count["value"] + 1), (weight, lambda: weight["value"] - count["value"])]
            step = K.function([], ["loss"], updates=updates)
            assert step("batch") == ["loss"] and (weight["value"], count["value"]) == (-4.0, 6.0)
            assert done == ["batch", []] and K.function([], ["outputs"])("batch") == ["outputs"]
        assert framework.order_of_updates(True) == "in order" != framework.order_of_updates(False)


class Variable:
    """A weight that can be copied once its work is done."""

    def __init__(self) -> None:
        self.copied = 0

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        self.copied += 1
        return np.zeros(1)


@pytest.mark.parametrize("generation", [2, 3])
def test_a_backend_that_nobody_knows_is_waited_for_by_copying_a_weight(tmp_path: Path, generation: int) -> None:
    moved, still = Variable(), Variable()
    model = SimpleNamespace(trainable_weights=[moved, still], weights=[moved, still])
    with loaded(tmp_path, "brandnew", generation) as framework:
        keras: Any = sys.modules["keras"]
        ops = SimpleNamespace(convert_to_numpy=np.array)
        copy = mock.patch.object(keras.backend, "batch_get_value", lambda weights: [np.array(one) for one in weights])
        with copy, mock.patch.object(keras, "ops", ops, create=True):
            framework.wait(model)
            framework.wait(model, {"loss": 0.5})
        assert (moved.copied, still.copied) == (2, 0)
        assert framework.device(model) == "unknown" and framework.threads() == {}
        assert framework.versions()[1] == "unknown" and framework.allocator_peak_mib(model) is None


OPTIMIZERS = [
    ({"class_name": "RMSprop", "learning_rate": 0.1}, {}),
    ({"class_name": "RMSprop", "learning_rate": 0.1, "epsilon": None}, {}),
    ({"class_name": "RMSprop", "learning_rate": 0.1, "epsilon": 1e-3}, {"epsilon": 1e-3}),
]


@pytest.mark.parametrize(("settings", "stated"), OPTIMIZERS)
@pytest.mark.parametrize(("backend", "generation"), [("jax", 3), ("mxnet", 2), ("theano", 2)])
def test_rmsprop_without_an_epsilon_has_that_of_keras_3(
    tmp_path: Path, settings: dict[str, Any], stated: dict[str, float], backend: str, generation: int
) -> None:
    with loaded(tmp_path, backend, generation) as framework:
        taken = mock.Mock()
        with mock.patch.object(sys.modules["keras.optimizers"], "RMSprop", taken, create=True):
            framework.optimizer(settings)
    epsilon = stated.get("epsilon", 1e-7)
    assert taken.call_args.kwargs["epsilon"] == pytest.approx(epsilon if backend == "theano" else epsilon**2)


@pytest.mark.parametrize(
    ("stated", "metrics"),
    [
        ({"LOSS": "categorical_crossentropy"}, ["accuracy"]),
        ({"LOSS": "mse"}, []),
        ({"LOSS": "mse", "METRICS": ["mae"]}, ["mae"]),
    ],
    ids=str,
)
def test_accuracy_is_a_metric_by_default_only_of_a_cross_entropy(
    tmp_path: Path, stated: dict[str, Any], metrics: list[str]
) -> None:
    model = mock.Mock()
    example = SimpleNamespace(OPTIMIZER={"class_name": "SGD", "learning_rate": 0.1}, **stated)
    with loaded(tmp_path, "theano", 2) as framework:
        framework.compile(model, example, "cpu", False)
    assert model.compile.call_args.kwargs["metrics"] == metrics


@pytest.mark.parametrize("settings", [{"class_name": "SGD", "speed": 1}, {"class_name": "Nobodys"}], ids=str)
def test_an_optimizer_that_keras_does_not_have_is_refused_in_a_sentence(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    with loaded(tmp_path, "theano", 2) as framework:
        refused: Any = sys.modules["kbench_guest.protocol"]
        with pytest.raises(refused.Refused) as caught:
            framework.optimizer({"learning_rate": 0.1, **settings})
    assert str(caught.value).startswith("Keras 2.9 refuses the OPTIMIZER: ") and caught.value.kind == "example"


def test_the_norm_of_all_gradients_is_clipped_in_each_generations_words(tmp_path: Path) -> None:
    taken, settings = mock.Mock(), {"class_name": "SGD", "learning_rate": 0.1}
    for backend, generation, name in [("jax", 3, "global_clipnorm"), ("theano", 2, "clipnorm")]:
        with loaded(tmp_path, backend, generation) as framework:
            with mock.patch.object(sys.modules["keras.optimizers"], "SGD", taken, create=True):
                framework.optimizer({**settings, "global_clipnorm": 5.0})
            assert taken.call_args.kwargs[name] == 5.0
            config = {"lr": 0.1, name: 5.0}
            framework.initial_learning_rate(config)
            assert config["global_clipnorm"] == 5.0
    for backend, name in [("theano", "clipnorm"), ("mxnet", "global_clipnorm")]:
        with loaded(tmp_path, backend, 2) as framework:
            refused: Any = sys.modules["kbench_guest.protocol"]
            with pytest.raises(refused.Refused, match="clip") as caught:
                framework.optimizer({**settings, name: 5.0})
            assert caught.value.kind == "unsupported"


def test_an_optimizer_may_be_made_by_a_function_and_nothing_else(tmp_path: Path) -> None:
    model = mock.Mock()
    with loaded(tmp_path, "theano", 2) as framework:
        refused: Any = sys.modules["kbench_guest.protocol"]
        made = SimpleNamespace(OPTIMIZER=lambda: "made", LOSS="mse")
        framework.compile(model, made, "cpu", False)
        assert model.compile.call_args.kwargs["optimizer"] == "made"
        with pytest.raises(refused.Refused, match="OPTIMIZER is neither a dict nor a function"):
            framework.compile(model, SimpleNamespace(OPTIMIZER=5, LOSS="mse"), "cpu", False)


class Schedule:
    """A learning rate's, which may have no configuration."""

    def __init__(self, **config: Any) -> None:
        self.config = config

    def get_config(self) -> dict[str, Any]:
        if not self.config:
            raise NotImplementedError
        return self.config


class InverseTimeDecay(Schedule):
    pass


class Adam:
    def __init__(self, rate: Any) -> None:
        self._learning_rate = rate

    def get_config(self) -> dict[str, Any]:
        assert not isinstance(self._learning_rate, Schedule)  # Keras would ask it for its configuration
        return {"name": "adam", "learning_rate": self._learning_rate, "beta_1": 0.9}


def test_a_schedule_is_told_by_its_class_and_settings_and_one_without_settings_by_its_class(tmp_path: Path) -> None:
    schedules = SimpleNamespace(LearningRateSchedule=Schedule)
    with loaded(tmp_path, "jax") as framework, mock.patch("keras.optimizers.schedules", schedules, create=True):

        def rate(schedule: Any) -> Any:
            optimizer = Adam(schedule)
            held = framework.optimizer_settings(optimizer)
            assert optimizer._learning_rate is schedule and held["beta_1"] == 0.9
            return held["learning_rate"], held["decay"]

        assert rate(0.5) == (0.5, None)
        assert rate(Schedule(steps=3)) == ({"class_name": "Schedule", "config": {"steps": 3}}, None)
        assert rate(Schedule()) == ({"class_name": "Schedule", "config": {}}, None)
        falling = {"initial_learning_rate": 0.1, "decay_steps": 4, "decay_rate": 2.0}
        assert rate(InverseTimeDecay(staircase=False, **falling)) == (0.1, 0.5)  # as Keras 2's decay
        assert rate(InverseTimeDecay(staircase=True, **falling))[1] is None
