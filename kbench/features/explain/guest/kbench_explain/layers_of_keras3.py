"""Each layer of a Keras model as a function of its own, forward and backward, compiled as the model is.

For Keras 3, and Keras 2 on TensorFlow 2. A layer is given what it is given in the model, on the first batch.
"""

import collections
import functools
from typing import Any, Callable, Dict, List, Sequence

import keras

from kbench_explain.step_parts import LAYER, NOTHING, OPTIMIZER, WHOLE, Part, Run
from kbench_guest.frameworks import graph

try:
    from keras.src.backend.common.masking import get_keras_mask, set_keras_mask
except ImportError:  # Keras 2, or an early version of Keras 3

    def get_keras_mask(tensor: Any) -> Any:
        return getattr(tensor, "_keras_mask", None)

    def set_keras_mask(tensor: Any, mask: Any) -> None:
        tensor._keras_mask = mask


KERAS_3 = hasattr(keras, "ops")


def _structures() -> Any:
    """(functions on nested structures, whether a value is a tensor, a tensor of a value)."""
    if KERAS_3:
        return keras.tree, keras.ops.is_tensor, keras.ops.convert_to_tensor
    import tensorflow as tf

    return tf.nest, tf.is_tensor, tf.convert_to_tensor


nest, is_tensor, to_tensor = _structures()

# A call of a layer in the model. tensors: what it is given, in the order of its arguments; wanted: positions of those
# that training needs a gradient of; apply(tensors): calls it; outputs: what it returned, floating point alone
Called = collections.namedtuple("Called", "layer tensors wanted apply outputs")


def parts(module: Any, model: Any, x: Any) -> List[Part]:
    """The parts of a step of a compiled model on x that can be run alone. Raises what the model raises."""
    *layers, whole = calls(model, x)
    functions = (MAKERS[keras.backend.backend()] if KERAS_3 else OnTensorFlowWithKeras2)(module, model)
    found: List[Part] = [
        (LAYER, one.layer.name, graph.kind_of(one.layer), functools.partial(functions.both, one)) for one in layers
    ]
    found.append((WHOLE, "", "", functools.partial(functions.both, whole)))
    found.append((OPTIMIZER, "", "", functools.partial(functions.optimizer, model)))
    return found + [(NOTHING, "", "", functools.partial(functions.nothing, one)) for one in layers[:1]]


def calls(model: Any, x: Any) -> List[Called]:
    """The model's layers as it calls them for x; the last one is the model as a whole."""
    found: List[Called] = []
    inside = [0]
    trained = [False]  # whether a layer with weights to train came before
    original = keras.layers.Layer.__call__

    def called(layer: Any, *args: Any, **kwargs: Any) -> Any:
        opened = isinstance(layer, (keras.models.Model, keras.layers.InputLayer))
        if opened or inside[0]:
            return original(layer, *args, **kwargs)
        inside[0] += 1
        try:
            returned = original(layer, *args, **kwargs)
        finally:
            inside[0] -= 1
        found.append(_called(layer, args, kwargs, returned, trained[0]))
        trained[0] = trained[0] or bool(layer.trainable_variables)
        return returned

    keras.layers.Layer.__call__ = called
    try:
        returned = model(x, training=True)
    finally:
        keras.layers.Layer.__call__ = original
    given = nest.map_structure(to_tensor, x)
    return found + [_called(model, (given,), {}, returned, False)]


def _called(layer: Any, args: Any, kwargs: Dict[str, Any], returned: Any, trained: bool) -> Called:
    if getattr(layer, "_expects_training_arg", True):  # Keras 3 leaves it out where the layer does not take it
        kwargs = dict(kwargs, training=True)
    leaves = nest.flatten((args, kwargs))
    places = [number for number, one in enumerate(leaves) if is_tensor(one)]
    tensors = [leaves[place] for place in places]
    masks = [get_keras_mask(one) for one in tensors]

    def apply(given: Sequence[Any]) -> Any:
        filled = list(leaves)
        for place, one, mask in zip(places, given, masks):
            filled[place] = one
            if mask is not None:
                set_keras_mask(one, mask)
        positional, named = nest.pack_sequence_as((args, kwargs), filled)
        return layer(*positional, **named)

    wanted = [number for number, one in enumerate(tensors) if trained and _is_float(one)]
    return Called(layer, tensors, wanted, apply, floats(returned))


def floats(outputs: Any) -> List[Any]:
    """The tensors among a layer's outputs that have gradients."""
    return [one for one in nest.flatten(outputs) if is_tensor(one) and _is_float(one)]


def _is_float(tensor: Any) -> bool:
    return "float" in str(tensor.dtype)


class OnTensorFlow:
    """Functions of TensorFlow; compiled: whether the model's steps are."""

    def __init__(self, module: Any, model: Any) -> None:
        self._tf = module
        self._eager, self._jit = model.run_eagerly, bool(model.jit_compile)

    @staticmethod
    def _variables(layer: Any) -> List[Any]:
        """TensorFlow's own, of what is trained."""
        return [weight.value for weight in layer.trainable_variables]

    @staticmethod
    def _update(model: Any, grads: Sequence[Any]) -> None:
        model.optimizer.apply(grads, model.trainable_variables)

    def _compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function if self._eager else self._tf.function(function, jit_compile=self._jit)

    def both(self, one: Called) -> Run:
        """A function that computes a layer and its gradients."""
        tf, variables = self._tf, self._variables(one.layer)

        def function(tensors: Any, grads: Any) -> Any:
            with tf.GradientTape() as tape:
                watched = [tensors[number] for number in one.wanted]
                tape.watch(watched)
                outputs = floats(one.apply(tensors))
            wanted = variables + watched
            return outputs, tape.gradient(outputs, wanted, output_gradients=grads) if outputs and wanted else []

        compiled = self._compiled(function)
        return lambda: compiled(one.tensors, one.outputs)

    def nothing(self, one: Called) -> Run:
        """The same of a layer that returns what it is given."""
        compiled = self._compiled(lambda tensors, grads: (tensors, grads))
        return lambda: compiled(one.tensors, one.outputs)

    def optimizer(self, model: Any) -> Run:
        """A function that changes the weights by gradients of zero."""
        grads = [self._tf.zeros_like(weight) for weight in self._variables(model)]
        compiled = self._compiled(functools.partial(self._update, model))
        return lambda: compiled(grads)


class OnTensorFlowWithKeras2(OnTensorFlow):
    """The same with Keras 2."""

    def __init__(self, module: Any, model: Any) -> None:
        self._tf = module
        self._eager, self._jit = model.run_eagerly, bool(model._jit_compile)  # 2.11 has no property for it

    @staticmethod
    def _variables(layer: Any) -> List[Any]:
        return list(layer.trainable_variables)

    @staticmethod
    def _update(model: Any, grads: Sequence[Any]) -> None:
        model.optimizer.apply_gradients(zip(grads, model.trainable_variables))


class OnJAX:
    """Functions of JAX; compiled: whether the model's steps are."""

    def __init__(self, module: Any, model: Any) -> None:
        self._jax = module
        self._compiled = (lambda function: function) if model.run_eagerly or not model.jit_compile else module.jit

    def both(self, one: Called) -> Run:
        """A function that computes a layer and its gradients."""
        jax, layer = self._jax, one.layer

        def function(trained: Any, others: Any, tensors: Any, grads: Any) -> Any:
            def forward(trained: Any, watched: Any) -> Any:
                given = list(tensors)
                for number, value in zip(one.wanted, watched):
                    given[number] = value
                values = list(zip(layer.trainable_variables, trained)) + list(
                    zip(layer.non_trainable_variables, others)
                )
                with keras.StatelessScope(state_mapping=values) as scope:
                    outputs = one.apply(given)
                state = [scope.get_current_value(weight) for weight in layer.non_trainable_variables]
                return floats(outputs), state

            outputs, back, state = jax.vjp(forward, trained, [tensors[place] for place in one.wanted], has_aux=True)
            return outputs, back(grads), state

        compiled = self._compiled(function)
        return lambda: compiled(
            [weight.value for weight in layer.trainable_variables],
            [weight.value for weight in layer.non_trainable_variables],
            one.tensors,
            one.outputs,
        )

    def nothing(self, one: Called) -> Run:
        """The same of a layer that returns what it is given."""
        compiled = self._compiled(lambda tensors, grads: (tensors, grads))
        return lambda: compiled(one.tensors, one.outputs)

    def optimizer(self, model: Any) -> Run:
        """A function that changes the weights by gradients of zero."""
        optimizer, weights = model.optimizer, model.trainable_variables
        grads = [self._jax.numpy.zeros_like(weight.value) for weight in weights]
        compiled = self._compiled(lambda state, trained: optimizer.stateless_apply(state, grads, trained))
        return lambda: compiled([one.value for one in optimizer.variables], [one.value for one in weights])


class PyTorchMixin:
    """Functions of PyTorch; compiled: whether the model's steps are."""

    def __init__(self, module: Any, model: Any) -> None:
        self._torch = module
        self._compiled = module.compile if model.jit_compile and not model.run_eagerly else lambda function: function

    def both(self, one: Called) -> Run:
        """A function that computes a layer and its gradients."""
        given = [tensor.detach() for tensor in one.tensors]
        for number in one.wanted:
            given[number].requires_grad_(True)
        wanted = [weight.value for weight in one.layer.trainable_variables] + [given[number] for number in one.wanted]
        apply = self._compiled(one.apply)
        upstream = [tensor.detach() for tensor in one.outputs]

        def function() -> Any:
            outputs = floats(apply(given))
            pairs = [pair for pair in zip(outputs, upstream) if pair[0].requires_grad]
            if pairs and wanted:
                ends, grads = zip(*pairs)
                self._torch.autograd.grad(ends, wanted, grads, allow_unused=True)
            return outputs

        return function

    def nothing(self, one: Called) -> Run:
        """The same of a layer that returns what it is given."""
        first = one.outputs[0].detach().requires_grad_(True)

        def function() -> Any:
            view = first.view_as(first)
            return self._torch.autograd.grad((view,), (first,), (first.detach(),))

        return function

    def optimizer(self, model: Any) -> Run:
        """A function that changes the weights by gradients of zero."""
        grads = [self._torch.zeros_like(weight.value) for weight in model.trainable_variables]

        def function() -> None:
            with self._torch.no_grad():
                model.optimizer.apply(grads, model.trainable_variables)

        return function


MAKERS: Dict[str, Any] = {"tensorflow": OnTensorFlow, "jax": OnJAX, "torch": PyTorchMixin}
