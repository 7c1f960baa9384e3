"""The smallest program that shows what came of a case: ready to paste, without kbench."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kbench.coverage.cases import INPUTS
from kbench.coverage.values import CONFIG, ELSEWHERE, FIT, FORMATS, GRADIENTS, GRAPH, CaseResult, ProbeCase

_DRAWN = {
    "floats": "np.random.RandomState({}).uniform(-1, 1, {}).astype('float32')",
    "integers": "np.random.RandomState({}).randint(0, 4, {}).astype('int32')",
    "booleans": "np.random.RandomState({}).uniform(-1, 1, {}) > 0",
    "probabilities": "np.random.RandomState({}).uniform(0.1, 1, {}).astype('float32')",
}
_PREDICTION = ("print(model.predict({0}))",)
_STEP = (
    'model.compile(loss="mse", optimizer=keras.optimizers.SGD(1.0))',
    "model.train_on_batch({0}, 0.3 * np.ones_like(model.predict({0})))",
    "print(layer.get_weights())",
)
_STEPS = (  # one in a graph, and one run eagerly
    "start = layer.get_weights()",
    "for eagerly in (False, True):",
    "    layer.set_weights(start)",
    '    model.compile(loss="mse", optimizer=keras.optimizers.SGD(1.0), run_eagerly=eagerly)',
    "    model.train_on_batch({0}, 0.3 * np.ones_like(model.predict({0})))",
    "    print(layer.get_weights())",
)
_FILE = (
    "print(model.predict({0}))",
    'model.save("model.{1}")',
    'print(keras.models.load_model("model.{1}").predict({0}))',
)
_OF_CHECK = {GRADIENTS: _STEP, FIT: _STEPS, GRAPH: ("print(model({0}), model.predict({0}))",), ELSEWHERE: _FILE} | (
    dict.fromkeys(FORMATS, _FILE)
)
_OF_OPTIMIZERS = (  # in a file
    'model.save("model.{0}"); model.train_on_batch(x0, x1); print(model.get_weights())',
    'model = keras.models.load_model("model.{0}"); model.train_on_batch(x0, x1); print(model.get_weights())',
)


def of_case(result: CaseResult, keras_backend: str) -> str:
    """A program of Keras that makes the inputs and the weights as the case has them, and prints the outputs."""
    case = result.case
    module, _, name = case.name.partition(".")
    chosen = result.inputs or (case.inputs[0] if case.inputs else "nothing")
    lines = [f'import os; os.environ["KERAS_BACKEND"] = "{keras_backend}"', "import keras, numpy as np"]
    names = []
    for number, (kind, shape) in enumerate(INPUTS.get(chosen, ())):
        names.append(f"x{number}")
        lines += [f"x{number} = {_DRAWN.get(kind, _DRAWN['floats']).format(number, shape)}"]
        if kind == "definite":
            lines.append(f"x{number} = (x{number} + x{number}.T) / 4 + 2 * np.eye({shape[-1]}, dtype='float32')")
        if kind == "masked":
            lines.append(f"x{number}[:, -2:] = 0")
        if kind == "probabilities":
            lines.append(f"x{number} /= x{number}.sum(-1, keepdims=True)")
    return "\n".join([*lines, *_call(case, module, name, names, result.check)]) + "\n"


def _call(case: ProbeCase, module: str, name: str, names: list[str], check: str) -> list[str]:
    made = f"keras.{module}.{name}({_settings(case.settings)})"
    if module == "layers":
        given = [f"inputs[{number}]" for number in range(len(names))]
        given = [f"keras.layers.Masking()({one})" for one in given] if case.masked else given
        joined = ", ".join(given)
        batch = names[0] if len(names) == 1 else f"[{', '.join(names)}]"
        low, high = case.weights
        weights = (
            f"np.random.RandomState(n).uniform({low}, {high}, w.shape) for n, w in enumerate(layer.get_weights())"
        )
        return [
            f"layer = {made}",
            f"inputs = [keras.layers.Input(x.shape[1:], dtype=x.dtype.name) for x in [{', '.join(names)}]]",
            f"outputs = layer({joined if case.apart or len(given) == 1 else f'[{joined}]'})",
            f"layer.set_weights([{weights}])",
            "model = keras.models.Model(inputs, outputs)",
            *(
                line.format(batch, check if check in FORMATS else "keras")
                for line in _OF_CHECK.get(check, _PREDICTION)
            ),
        ]
    if module == "optimizers":
        compiled = f'model.compile(loss="mse", optimizer={made}'
        steps = "for _ in range(3): model.train_on_batch(x0, x1)"
        if check == GRAPH:
            return [
                "for eagerly in (False, True):",
                '    model = keras.Sequential([keras.layers.Dense(2, kernel_initializer="ones")])',
                f"    {compiled}, run_eagerly=eagerly)",
                f"    {steps}",
                "    print(model.get_weights())",
            ]
        last = _OF_OPTIMIZERS if check in FORMATS else ("print(model.get_weights())",)
        made = "model = keras.Sequential([keras.layers.Dense(2)])"
        return [made, f"{compiled})", steps, *(line.format(check) for line in last)]
    if check == CONFIG or (check in (GRAPH, GRADIENTS) and names):
        return _of_check(case, module, name, names, check)
    if case.arrays:
        given = [f"{key}={one}" for key, one in zip(case.arrays, names, strict=False)]
        return [f"print(keras.{module}.{name}({', '.join([*given, _settings(case.settings)]).rstrip(', ')}))"]
    if name[:1].islower():
        return [f"print({made})"]
    if module == "metrics":
        return [
            f"metric = {made}",
            f"for _ in range(2): metric.update_state({', '.join(names)})",
            "print(metric.result())",
        ]
    return [f"print({made}({'(200, 150)' if module == 'initializers' else ', '.join(names)}))"]


def _of_check(case: ProbeCase, module: str, name: str, names: list[str], check: str) -> list[str]:
    """A function or an object in a model of one sample, or made again of its configuration."""
    is_class = name[:1].isupper()
    settings, arrays = _settings(case.settings), ", ".join(names)
    lines = [f"function = keras.{module}.{name}{f'({settings})' if is_class else ''}"]
    given = [f"{key}={{}}" if key else "{}" for key in (case.arrays or [""] * len(names))]
    more = settings.replace("{", "{{").replace("}", "}}") if not is_class else ""
    call = "function({})".format(", ".join([*given, *([more] if more else [])]))
    if check == CONFIG:
        again = f"function = keras.{module}.deserialize(keras.{module}.serialize(function))"
        if module == "initializers":
            call = "function((200, 150))"
        shown = f"print({call.format(*names)})"
        return [*lines, shown, again, shown]
    in_model = call.format(*(f"x[{number}][0]" for number in range(len(names))))
    lines += [
        f"arrays = [x[None] for x in ({arrays},)]",
        "inputs = [keras.layers.Input(x.shape[1:], dtype=x.dtype.name) for x in arrays]",
    ]
    if check == GRADIENTS:
        lines += [
            "eye = lambda x: keras.layers.Dense(x.shape[-1], use_bias=False, kernel_initializer='identity')",
            "before = [eye(x)(x) if x.dtype == 'float32' else x for x in inputs]",
        ]
    lines.append(
        f"outputs = keras.layers.Lambda(lambda x: {in_model}[None])({'before' if check == GRADIENTS else 'inputs'})"
    )
    lines.append("model = keras.models.Model(inputs, outputs)")
    if check == GRADIENTS:
        return [
            *lines,
            'model.compile(loss="mse", optimizer=keras.optimizers.SGD(1.0))',
            "model.train_on_batch(arrays, 0.3 * np.ones_like(model.predict(arrays)))",
            "print(model.get_weights())",
        ]
    return [*lines, f"print({call.format(*names)}, model.predict(arrays)[0])"]


def _settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in settings.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"keras.{value['of']}({_settings(value['settings'])})"
    if isinstance(value, list):
        return f"({', '.join(map(_value, value))}{',' * (len(value) == 1)})"
    return repr(value)


def in_words(case: ProbeCase) -> str:
    """The case as one line: `layers.Conv2D(filters=2, kernel_size=3)`."""
    masked = " behind a mask" * case.masked
    return f"{case.name}({_settings(case.settings).replace('keras.layers.', '')}){masked}"
