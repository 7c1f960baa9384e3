"""The smallest program that shows what came of a case: ready to paste, without kbench."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kbench.features.coverage import inputs
from kbench.features.coverage.values import (
    BATCH,
    CLONE,
    CONFIG,
    COPY,
    ELSEWHERE,
    EXPORT,
    FIT,
    FORMATS,
    GRADIENTS,
    GRAPH,
    JIT,
    SYMBOLIC,
    CaseResult,
    ProbeCase,
)

INSTEAD = " instead of "  # in a sentence about values that came back as others
ANY_SIZE = " of any size"  # the same, of a shape
KERAS2 = "keras2/"  # the generation whose tensors have to be evaluated
OF_CLASSES = {0: 0.37, 1: 2.9, 2: 0.71, 3: 1.3, 4: 0.19}  # as in the guest
_NO_FLOATS = ("integers", "classes", "booleans", "words")
_KINDS = {inputs.TIED: "ties", "small": "a small sample", "whole": "whole numbers"}  # of whatever shape is taken
_BEFORE = (  # weights that leave each input as it is, and get its gradient
    "eye = lambda x: keras.layers.Dense(x.shape[-1], use_bias=False, kernel_initializer='identity')",
    "before = [eye(x)(one) if x.dtype == 'float32' else one for one, x in zip(inputs, [{0}])]",
)
_STEP = (
    'model.compile(loss="mse", optimizer=keras.optimizers.SGD(1.0))',
    "model.train_on_batch({0}, 0.3 * np.ones_like(model.predict({0})))",
    "print(model.get_weights())",
)
_PREDICTION = ("print(model.predict({0}))",)
_STEPS = (  # one in a graph, and one run eagerly
    "start = model.get_weights()",
    "for eagerly in (False, True):",
    "    model.set_weights(start)",
    '    model.compile(loss="mse", optimizer=keras.optimizers.SGD(1.0), run_eagerly=eagerly)',
    "    model.train_on_batch({0}, 0.3 * np.ones_like(model.predict({0})))",
    "    print(model.get_weights())",
)
_FILE = (
    "print(model.predict({0}))",
    'model.save("model.{1}")',
    'print(keras.models.load_model("model.{1}"{2}.predict({0}))',
)
_EXPORTED = tomllib.loads((Path(__file__).parent / "exported.toml").read_text("utf-8"))  # by the backend
_TWIN = (
    "twin = keras.models.clone_model(model)",
    "twin.set_weights(model.get_weights())",
    "print(model({0}), twin({0}))",
)
_IN_OTHERS = {
    "Sequential": ("print(model({0}), keras.Sequential([one for one in model.layers[1:]])({0}))",),
    "TimeDistributed": ("print(layer({0}), keras.layers.TimeDistributed(layer)(np.stack([{0}, {0}], 1)))",),
    "Bidirectional": (
        "outer = keras.layers.Bidirectional(layer, merge_mode=None)",
        "outer({0})",
        "outer.set_weights(2 * layer.get_weights())",
        "print(layer({0}), outer({0})[0], outer(x0[:, ::-1])[1])",
    ),
    "RNN": (
        "x, *states = {0}",
        "outer = keras.layers.RNN(layer, return_state=True)",
        "print(model({0}), outer(x[:, None], initial_state=states))",
    ),
}
_OF_CHECK = {
    GRADIENTS: _STEP,
    FIT: _STEPS,
    GRAPH: ("print(model({0}), model.predict({0}))",),
    JIT: ("model.jit_compile = not model.jit_compile", "print(model({0}), model.predict({0}))"),
    BATCH: ("print(model({0}), model([one[-1:] for one in [{0}]]), model({0}))",),
    **_IN_OTHERS,
    CLONE: _TWIN,
    ELSEWHERE: _FILE,
    EXPORT: _PREDICTION,
    **dict.fromkeys(FORMATS, _FILE),
}


def of_case(result: CaseResult, keras_backend: str) -> str:
    """A program of Keras that makes the inputs and the weights as the case has them, and prints the outputs; empty if
    its inputs are not known.
    """
    case = result.case
    chosen = result.inputs or (case.inputs[0] if case.inputs else "nothing")
    if chosen not in inputs.INPUTS:  # of an older kbench
        return ""
    lines = [f'import os; os.environ["KERAS_BACKEND"] = "{keras_backend}"', "import keras, numpy as np"]
    for drawn in inputs.statements(chosen, case.seed):
        lines += drawn
    kinds = [kind for kind, _ in inputs.INPUTS.get(chosen, ())]
    names = [f"x{number}" for number in range(len(kinds))]
    if case.dtype and not case.dtype.startswith("mixed"):
        lines += [
            f"{name} = {name}.astype('{case.dtype}')"
            for name, kind in zip(names, kinds, strict=True)
            if kind not in _NO_FLOATS
        ]
    module = case.name.partition(".")[0]
    is_object = case.name.partition(".")[2][:1].isupper() and not case.code
    if is_object and (result.check == COPY or (result.check == CONFIG and INSTEAD in result.sentence)):
        return "\n".join([*lines[:2], *_of_values(case, module, result.check)]) + "\n"
    if case.fitted:
        lines += _fitted(case, module == "losses")
    elif result.check == SYMBOLIC:
        lines += _without_numbers(case, module, names, kinds, result.sentence)
    elif module == "layers":
        lines += _of_layer(case, names, result.backend.startswith(KERAS2), result.check)
        lines += [_EXPORTED.get(keras_backend, "").format(", ".join(names))] * (result.check == EXPORT)
    elif module == "optimizers":
        lines += _of_optimizer(case, result.backend.startswith(KERAS2), result.check)
    elif result.check == CONFIG or (result.check in (GRAPH, GRADIENTS) and names):
        lines += _of_check(case, module, names, result.check)
    elif result.backend.startswith(KERAS2):
        lines += [f"{name} = keras.backend.variable({name}, dtype={name}.dtype.name)" for name in names]
        lines += [f"print(keras.backend.eval({_value_of(case, module, names)}))"]
    elif case.masked and names:
        value = _value_of(case, module, [names[0], f"Large()({names[1]})"])
        lines += [*_large(False), f"print({value})"]
    elif module == "metrics" and not case.arrays:
        given = ", ".join(names)
        lines += [f"metric = {_made(case)}", f"for _ in range(2): metric.update_state({given})"]
        lines += ["print(metric.result())"]
    else:
        lines += [f"print({_value_of(case, module, names)})"]
    return "\n".join(lines) + "\n"


def _value_of(case: ProbeCase, module: str, names: Sequence[str]) -> str:
    """The expression of what a case computes that is neither a layer nor an optimizer."""
    if case.code:
        return case.code
    if case.arrays:
        given = [f"{key}={one}" for key, one in zip(case.arrays, names, strict=False)]
        given = given if case.apart else [f"{case.arrays[0]}=[{', '.join(names)}]"]
        return f"keras.{case.name}({', '.join([*given, _settings(case.settings)]).removesuffix(', ')})"
    if case.name.partition(".")[2][:1].islower():
        return _made(case)
    return f"{_made(case)}({'(200, 150)' if module == 'initializers' else ', '.join(names)})"


def _without_numbers(
    case: ProbeCase, module: str, names: Sequence[str], kinds: Sequence[str], sentence: str
) -> list[str]:
    """What a symbolic call says beside what comes."""
    shape = "(None, *{0}.shape[1:])" if ANY_SIZE in sentence else "{0}.shape"
    dtype = '"string"' if "words" in kinds else "{0}.dtype.name"
    symbolic = [f"keras.KerasTensor({shape}, {dtype})".format(one) for one in names]
    if module != "layers":
        return [f"print({_value_of(case, module, given)})" for given in (symbolic, names)]
    calls = [
        f"print(layer({_given(case, [f'Large()({one})' for one in given] if case.masked else given)}))"
        for given in (symbolic, names)
    ]
    return [*(_large(False) if case.masked else ()), f"layer = {_made(case)}", *calls]


def _of_layer(case: ProbeCase, names: Sequence[str], in_graph: bool, check: str) -> list[str]:
    made, weights = f"layer = {_made(case)}", _weights("layer", case)
    large = [*_large(in_graph)] if case.masked else []
    if not in_graph and check not in _OF_CHECK:
        masks = [f"{one} = Large()({one})" for one in names if case.masked]
        called = f"layer({_given(case, names)})"
        lines = [*large, made, *masks, called, weights, f"outputs = {called}", "print(outputs)"]
        lines += ["print([Mask()(one) for one in keras.tree.flatten(outputs)])"] * case.masked
        state = "print([w for w in layer.non_trainable_weights if 'float' in str(w.dtype)])"
        return [*lines, state] if case.training else lines
    given = [f"{'before' if check in (GRADIENTS, FIT) else 'inputs'}[{number}]" for number in range(len(names))]
    given = [f"Large()({one})" for one in given] if case.masked else given
    batch = names[0] if len(names) == 1 else f"[{', '.join(names)}]"
    own = ', {"Large": Large})' if case.masked else ")"
    return [
        *large,
        made,
        f"inputs = [keras.layers.Input(x.shape[1:], dtype=x.dtype.name) for x in [{', '.join(names)}]]",
        *(line.format(", ".join(names)) for line in _BEFORE if check in (GRADIENTS, FIT)),
        f"outputs = layer({_given(case, given)})",
        weights,
        "model = keras.models.Model(inputs, outputs)",
        *(
            one.format(batch, check if check in FORMATS else "keras", own)
            for one in _OF_CHECK.get(check, _PREDICTION)
        ),
    ]


def _large(in_keras2: bool) -> Sequence[str]:
    """A layer that masks the steps that are large, and one that shows the mask that reaches it."""
    of = "keras.backend" if in_keras2 else "keras.ops"
    lines = (
        "class Large(keras.layers.Layer):",
        "    supports_masking = True",
        "    def call(self, x):",
        "        return x + 0.0",
        "    def compute_mask(self, x, mask=None):",
        f"        return {of}.less({of}.max(x, axis=-1), 5.0)",
    )
    mask = (
        "class Mask(keras.layers.Layer):",
        "    def call(self, x, mask=None):",
        "        none = keras.ops.zeros_like(x) - keras.ops.ones_like(x)",
        "        return none if mask is None else keras.ops.cast(mask, x.dtype)",
    )
    return lines if in_keras2 else (*lines, *mask)


def _of_values(case: ProbeCase, module: str, check: str) -> list[str]:
    """What an object holds, and what it holds when it comes back."""
    back = f"keras.{module}.deserialize(keras.{module}.serialize(made))"
    if check == COPY:
        back = "pickle.loads(pickle.dumps(copy.deepcopy(made)))"
    return [
        *["import copy, pickle"] * (check == COPY),
        f"made = {_made(case)}",
        f"again = {back}",
        "print(vars(made))",
        "print(vars(again))",
    ]


def _of_check(case: ProbeCase, module: str, names: Sequence[str], check: str) -> list[str]:
    """A function or an object in a model of one sample, or made again of its configuration."""
    value = _value_of(case, module, names)
    if check == CONFIG:
        is_class = case.name.partition(".")[2][:1].isupper()
        made = _made(case) if is_class else f"keras.{case.name}"
        shown = f"print({value.replace(made, 'function', 1)})"
        again = f"function = keras.{module}.deserialize(keras.{module}.serialize(function))"
        return [f"function = {made}", shown, again, shown]
    samples = ", ".join(f"x[{number}][0]" for number in range(len(names)))
    lines = [
        f"function = lambda {', '.join(names)}: {value}",
        f"arrays = [x[None] for x in [{', '.join(names)}]]",
        "inputs = [keras.layers.Input(x.shape[1:], dtype=x.dtype.name) for x in arrays]",
    ]
    if check == GRADIENTS:
        lines += [line.format("*arrays") for line in _BEFORE]
    fed = "before" if check == GRADIENTS else "inputs"
    lines += [
        f"outputs = keras.layers.Lambda(lambda x: function({samples})[None])({fed})",
        "model = keras.models.Model(inputs, outputs)",
    ]
    if check == GRADIENTS:
        return [
            *lines,
            'model.compile(loss="mse", optimizer=keras.optimizers.SGD(1.0))',
            "model.train_on_batch(arrays, 0.3 * np.ones_like(model.predict(arrays)))",
            "print(model.get_weights())",
        ]
    return [*lines, f"print(function({', '.join(names)}), model.predict(arrays)[0])"]


def _fitted(case: ProbeCase, is_loss: bool) -> list[str]:
    """A model that gives its inputs back and learns nothing: what `fit` says."""
    before = "Large()(inputs)" if case.masked else "inputs"
    told = "loss={0}" if is_loss else "loss='mse', weighted_metrics=[{0}]"
    ways = ["sample_weight=x2"] + [f"class_weight={OF_CLASSES}"] * (is_loss and not case.masked)
    fit = "print(model.fit(x1, x0, batch_size=len(x1) - 1, shuffle=False, {0}).history)"
    return [
        *(_large(False) if case.masked else ()),
        "inputs = keras.layers.Input(x1.shape[1:])",
        "eye = keras.layers.Dense(5, use_bias=False, kernel_initializer='identity')",
        f"model = keras.models.Model(inputs, eye({before}))",
        f"model.compile({told.format(_made(case))}, optimizer=keras.optimizers.SGD(0.0))",
        *(fit.format(one) for one in ways),
    ]


def _of_optimizer(case: ProbeCase, in_keras2: bool, check: str) -> list[str]:
    """Ten steps of a model whose gradients are those that the loss is given, and more where it was saved."""
    repeated = case.inputs[0] == inputs.REPEATED
    layer = (
        "keras.layers.Embedding(4, 2, input_shape=(3,))" if repeated else "keras.layers.Dense(3, input_shape=(4,))"
    )
    how = ", run_eagerly=eagerly" * (check == GRAPH)
    steps = [
        "weights = [model.get_weights()]",
        "for n in range(10):",
        f"    model.train_on_batch({'x0[n], x1[n]' if repeated else 'np.eye(4), x0[n]'})",
        "    weights.append(model.get_weights())",
        "print([np.stack([of[0], *np.diff(of, axis=0)]) for of in zip(*weights)])  # at first, and each change",
    ]
    again = [
        f'model.save("model.{check}")',
        *steps,
        f'model = keras.models.load_model("model.{check}", {{"loss": loss}})',
    ]
    made = [
        f"model = keras.Sequential([{layer}])",
        _weights("model", case),
        "sizes = np.array([[1.0], [0.01], [10.0], [0.1]])",
        "model.set_weights([w * sizes if len(w) == 4 else w for w in model.get_weights()])",
        f"model.compile(loss=loss, optimizer={_made(case)}{how})",
        *steps,
        *(again + steps if check in FORMATS else []),
    ]
    of = "backend" if in_keras2 else "ops"
    loss = ["def loss(y_true, y_pred):", f"    return keras.{of}.sum(y_true * y_pred, -1)"]
    return [*loss, "for eagerly in (False, True):", *(f"    {line}" for line in made)] if how else [*loss, *made]


def _given(case: ProbeCase, names: Sequence[str]) -> str:
    """The arguments of a layer's call."""
    if "Cell" in case.name and len(names) > 1:
        return f"{names[0]}, states=[{', '.join(names[1:])}]"
    joined = ", ".join(names)
    training = f", training={case.training}" * (case.training or case.inference)
    return f"{joined if case.apart or len(names) == 1 else f'[{joined}]'}{training}"


def _weights(of: str, case: ProbeCase) -> str:
    if case.weights is None:
        return ""
    number = f"{case.seed * inputs.SEEDS_APART} + n" if case.seed else "n"
    low, high = case.weights
    drawn = f"np.random.RandomState({number}).uniform({low}, {high}, w.shape)"
    return f"{of}.set_weights([{drawn} for n, w in enumerate({of}.get_weights())])"


def _made(case: ProbeCase) -> str:
    settings = {**case.settings, **({"dtype": case.dtype} if case.dtype else {})}
    return case.code or f"keras.{case.name}({_settings(settings)})"


def _settings(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in settings.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return str(value["python"])
    if isinstance(value, list):
        return f"({', '.join(map(_value, value))}{',' * (len(value) == 1)})"
    return repr(value)


def in_words(case: ProbeCase) -> str:
    """The case as one line: `layers.Conv2D(filters=2, kernel_size=3)`."""
    words = case.code.replace("keras.", "") or f"{case.name}({_settings(case.settings).replace('keras.layers.', '')})"
    first = case.inputs[0]
    kind = next((words for start, words in _KINDS.items() if first.startswith(f"{start} ")), first)
    on = f" on {kind}" if first in inputs.TELLING or (case.wrong and first == "vectors") else ""
    how = f"{' in fit with weights' * case.fitted}{' behind a mask' * case.masked}{' in training' * case.training}"
    how += " with training=False" * case.inference
    return f"{words}{how}{on}{f' in {case.dtype}' if case.dtype else ''}"
