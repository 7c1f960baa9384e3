"""Each layer of a Keras 2 model as a function of its own, forward and backward, on TensorFlow 1 and Theano.

What a layer is given is held in a variable, so that nothing is copied into the function when it runs.
"""

import functools
from typing import Any, Callable, Dict, List, Sequence, Tuple

import keras
from keras import backend as K

from kbench_explain.step_parts import LAYER, NOTHING, WHOLE, Part, Run
from kbench_guest.arrays import leaves
from kbench_guest.frameworks import graph


def parts(model: Any, x: Any) -> List[Part]:
    """The parts of a step of a compiled model on x that can be run alone; the optimizer cannot."""
    compiled = COMPILED.get(K.backend())
    if compiled is None:
        raise NotImplementedError(f"Keras 2 on {K.backend().partition('.')[0]} has no gradients of a single layer")
    given = [x[name] for name in model.input_names] if isinstance(x, dict) else leaves(x)
    calls = list(_calls(model))
    held = {id(tensor): value for tensor, value in zip(model.inputs, given)}
    tensors = {id(tensor): tensor for _, taken, _ in calls for tensor in taken if id(tensor) not in held}
    phase = [] if isinstance(K.learning_phase(), int) else [K.learning_phase()]
    values = K.function(list(model.inputs) + phase, list(tensors.values()))(list(given) + [1] * len(phase))
    held.update(zip(tensors, values))
    found: List[Part] = []
    trained = False  # whether a layer with weights to train came before
    for layer, taken, arguments in calls:
        inputs = [(held[id(tensor)], K.dtype(tensor)) for tensor in taken]
        make = functools.partial(_both, compiled, layer, inputs, arguments, trained)
        found.append((LAYER, layer.name, graph.kind_of(layer), make))
        trained = trained or bool(layer.trainable_weights)
    whole = [(value, K.dtype(tensor)) for value, tensor in zip(given, model.inputs)]
    found.append((WHOLE, "", "", functools.partial(_both, compiled, model, whole, {}, False)))
    found.append((NOTHING, "", "", functools.partial(compiled, [K.variable(0.0) + 0.0], [], [])))
    return found


def _calls(model: Any) -> Any:
    """(layer, the tensors that it is given, further arguments) of each call in the model, in order."""
    if not getattr(model, "_is_graph_network", True):
        raise NotImplementedError("a model in Python code (subclassed) is not supported")
    for depth in sorted(model._nodes_by_depth, reverse=True):
        for node in model._nodes_by_depth[depth]:
            if node.outbound_layer.__class__.__name__ != "InputLayer":
                yield node.outbound_layer, list(node.input_tensors), dict(node.arguments or {})


def _both(
    compiled: Callable[..., Run],
    layer: Any,
    inputs: Sequence[Tuple[Any, str]],
    arguments: Dict[str, Any],
    trained: bool,
) -> Run:
    """A function that computes a layer and its gradients."""
    variables = [K.variable(value, dtype=dtype) for value, dtype in inputs]
    tensors = [keras.layers.Input(tensor=variable) for variable in variables]
    given = tensors[0] if len(tensors) == 1 else tensors
    outputs = leaves(layer(given, **arguments))
    updates = layer.get_updates_for(tensors)
    watched = [one for one in variables if trained and "float" in K.dtype(one)]
    return compiled(outputs, list(layer.trainable_weights) + watched, updates)


def _tensorflow(outputs: List[Any], wanted: List[Any], updates: List[Any]) -> Run:
    import tensorflow as tf

    grads = tf.gradients(outputs, wanted) if wanted else []
    made = outputs + [getattr(one, "values", one) for one in grads if one is not None]
    # A number of each: what only has to be run, and gives nothing, is optimized away.
    step = [tf.reshape(one, [-1])[:1] for one in made] + [getattr(one, "op", one) for one in updates]
    session, phase = K.get_session(), K.learning_phase()
    if isinstance(phase, int):
        return session.make_callable(step)
    return functools.partial(session.make_callable(step, feed_list=[phase]), True)


def _theano(outputs: List[Any], wanted: List[Any], updates: List[Any]) -> Run:
    import theano

    grads = []
    if wanted:
        known = {end: theano.tensor.ones_like(end) for end in outputs}
        grads = theano.grad(None, wanted, known_grads=known, disconnected_inputs="ignore")
    results = [theano.Out(theano.tensor.as_tensor_variable(one), borrow=True) for one in outputs + list(grads)]
    phase = K.learning_phase()
    given = [] if isinstance(phase, int) else [phase]
    function = theano.function(given, results, updates=list(updates), on_unused_input="ignore")
    return functools.partial(function, *([1] if given else []))


COMPILED = {"tensorflow": _tensorflow, "theano": _theano}
