"""A training loop of the program's own: its steps, each from one update of weights to the next.

An update is a call of an optimizer's `apply`, of a compiled function that calls it while it is traced (tf.function,
jax.jit), or of the step of an optimizer of PyTorch. Updates within an observed call, such as fit, are part of that.
"""

import functools
import sys
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Set

import keras
import numpy as np

from kbench_script.watching import overhead
from kbench_script.watching.wrapping import wrap_methods

if TYPE_CHECKING:
    from kbench_guest.frameworks.interface import Weights
    from kbench_script.program_files import Files
    from kbench_script.watching.recorder import Recorder

LOOP = "loop"  # how a line is named that ends a step


class Loops:
    """The loops of a program."""

    def __init__(self, framework: "Weights", recorder: "Recorder", files: "Files") -> None:
        self._recorder = recorder
        self._framework = framework
        self._files = files
        self._compiled: Optional[Any] = None  # the compiled function that runs
        self._trains: Any = weakref.WeakKeyDictionary()  # compiled function: number of parameters that it updates
        self._applies = False  # whether an optimizer is at work
        self._begun: Set[str] = set()  # sites that have had a step
        self._ended = 0.0  # when the last step ended, in whatever line
        self._in_calls = 0.0  # seconds of observed calls until then
        self._loss: Any = None  # what the step computed gradients of, or returned first

    def watch(self) -> None:
        """See updates from now on."""
        optimizers = keras.optimizers
        of_keras3 = hasattr(optimizers.Optimizer, "apply")
        wrap_methods(optimizers.Optimizer, ("apply" if of_keras3 else "apply_gradients",), self._wrapped)
        modules: Dict[str, Any] = dict(sys.modules)
        tensorflow, jax = modules.get("tensorflow"), modules.get("jax")
        if hasattr(tensorflow, "function"):
            function: Any = type(tensorflow.function(lambda: None))
            function.__call__ = self._compiled_call(function.__call__)
            wrap_methods(tensorflow.GradientTape, ("gradient",), self._differentiates)
        if hasattr(jax, "jit"):
            jax.jit = self._jit(jax.jit)
        hook = modules.get("torch.optim.optimizer")
        if hasattr(hook, "register_optimizer_step_post_hook"):
            hook.register_optimizer_step_post_hook(self._of_torch)
            wrap_methods(modules["torch"].Tensor, ("backward",), self._goes_backward)

    def _differentiates(self, method: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def gradient(tape: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            if self._compiled is None and self._recorder.observes() and is_number(target):
                self._loss = target
            return original(tape, target, *args, **kwargs)

        return gradient

    def _goes_backward(self, method: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def backward(loss: Any, *args: Any, **kwargs: Any) -> Any:
            if self._recorder.observes() and is_number(loss):
                self._loss = loss.detach()
            return original(loss, *args, **kwargs)

        return backward

    def _wrapped(self, method: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def apply(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if self._applies or not self._recorder.observes():
                return original(optimizer, *args, **kwargs)
            if method == "apply_gradients" and args:  # which may be a zip, that can be read once
                args = (list(args[0]), *args[1:])
            self._applies = True
            try:
                found = original(optimizer, *args, **kwargs)
            finally:
                self._applies = False
            self._recorder.guarded(self._updated, optimizer, args)
            return found

        return apply

    def _updated(self, optimizer: Any, args: Any) -> None:
        pairs = args[0] if args and args[0] and isinstance(args[0][0], tuple) else ()
        variables: List[Any] = [one for _, one in pairs] or list(getattr(optimizer, "_trainable_variables", []))
        number = int(sum(np.prod(self._framework.shape_of(one)) for one in variables))
        if self._compiled is None:
            self._end(number)
        else:
            self._trains[self._compiled] = number

    def _of_torch(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._recorder.observes():
            groups: Iterable[Dict[str, Any]] = optimizer.param_groups
            self._recorder.guarded(self._end, sum(one.numel() for group in groups for one in group["params"]))

    def _compiled_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """In the place of the method that runs a compiled function."""

        @functools.wraps(original)
        def called(function: Any, *args: Any, **kwargs: Any) -> Any:
            if self.runs():
                return original(function, *args, **kwargs)
            return self.run(function, functools.partial(original, function), args, kwargs)

        return called

    def run(self, key: Any, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Run a compiled function; it ends a step if it updates weights."""
        self._compiled = key
        try:
            found = function(*args, **kwargs)
        finally:
            self._compiled = None
        if key in self._trains:
            returned = found if isinstance(found, (list, tuple)) else [found]
            self._loss = next((one for one in returned if is_number(one)), None)
            self._recorder.guarded(self._end, self._trains[key])
        return found

    def _jit(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def jit(*args: Any, **kwargs: Any) -> Any:
            made = original(*args, **kwargs)
            own = self._files.is_own(sys._getframe(1).f_code.co_filename)
            return Jitted(self, made) if own and callable(made) else made

        return jit

    def runs(self) -> bool:
        """Whether a compiled function of the program or an observed call is under way."""
        return self._compiled is not None or not self._recorder.observes()

    def _end(self, parameters: int) -> None:
        """A step has ended, in a line of the program. Calls that have a row, as of evaluate, are no part of it."""
        site = self._recorder.site(LOOP)
        ended, in_calls = overhead.now(), self._recorder.in_calls
        with overhead.excluded_from_time():
            site.loss, self._loss = self._loss, None
            self._recorder.loss(site, site.loss)
            if site.name in self._begun:
                if not site.described:
                    self._recorder.describe(site, "train", {"parameters": parameters})
                self._recorder.step(site, ended - self._ended - in_calls + self._in_calls)
                self._recorder.report(site)
            self._begun.add(site.name)
            self._recorder.passed_on(site)
        self._ended, self._in_calls = overhead.now(), in_calls


def is_number(value: Any) -> bool:
    """Whether it is a single number of a framework, as a loss is."""
    return tuple(getattr(value, "shape", (0,))) == () and "float" in str(getattr(value, "dtype", ""))


class Jitted:
    """A function that the program had JAX compile."""

    def __init__(self, loops: Loops, compiled: Any) -> None:
        self._loops, self._compiled = loops, compiled
        functools.update_wrapper(self, compiled, updated=())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._loops.runs():
            return self._compiled(*args, **kwargs)
        return self._loops.run(self, self._compiled, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)
