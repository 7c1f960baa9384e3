"""What kbench asks of a framework, with answers that hold for an unknown one."""

import contextlib
import traceback

from kbench_guest.protocol import Refused


class Framework:
    """One framework. Its subclasses override what raises NotImplementedError here, and whatever they know better."""

    eager = False  # whether a model can be called with numbers, and is traced when it trains
    heeds_run_eagerly = False  # whether run_eagerly keeps a model's steps from being compiled

    def versions(self):
        """(version of the library that the model is written in, version of the framework below it)."""
        raise NotImplementedError

    def prepare(self):
        """Called before a model is made."""

    def seed(self, number):
        """Seed the random numbers of training, such as dropout's. They differ from framework to framework."""
        raise NotImplementedError

    def device(self, model):
        """'cpu', 'gpu' or 'unknown': where the model's weights are, or its operations run."""
        return "unknown"

    def set_policy(self, policy):
        """Set the dtype policy of all layers made from now on. Raises Refused."""
        raise Refused("unsupported", "it has no dtype policies")

    def set_jit(self, model, on):
        """Turn jit_compile of a compiled model on or off. Raises Refused."""
        raise Refused("unsupported", "it has no jit_compile")

    def held_settings(self, model):
        """{"jit": "on" or "off", "computes_in": [dtypes its layers compute in]}; {} if it has no such settings."""
        return {}

    def wait(self, model, outputs=None):
        """Return when all work on the device is done, so that the clock can be read.

        outputs: what the model's function has just returned, while fit is still under way.
        A weight can be copied only after the update that changes it.
        """
        self.values((list(model.trainable_weights) or list(model.weights))[:1])

    def pending(self, outputs):
        """(is_done, wait) of the step that gave these outputs; None if the step is done already.

        is_done() says whether its work on the device is done; wait() returns when it is, and waits for no later
        work. Raises NotImplementedError if the framework cannot say.
        """
        raise NotImplementedError

    def describe(self, model):
        """[layer class, settings, shapes of its weights] of each layer, in words that all frameworks share."""
        raise NotImplementedError

    def weights(self, model):
        """[(layer, its weights as float32 arrays in the layout that all frameworks share)], as they are now."""
        raise NotImplementedError

    def own_weights(self, model):
        """The same as this framework keeps them."""
        raise NotImplementedError

    def values(self, weights):
        """The values of many weights, as arrays of their own."""
        raise NotImplementedError

    def step_hook(self, model, kind, wrap):
        """Let training ('train') or prediction ('predict') call wrap(function) in place of its compiled function."""
        raise NotImplementedError

    @contextlib.contextmanager
    def data_of_fit(self, see):
        """While it is open, fit calls see(arguments) with what it makes batches of, if that can be seen."""
        yield

    def data_of_step(self, model, args):
        """(inputs, targets, weights of the samples) in the arguments of a training step; None if it has them not."""
        return

    def steps_of_a_call(self, model):
        """How many steps the compiled function takes at once."""
        return 1

    def all_weights(self, model):
        """The values of all weights of the model, as they are now."""
        return self.values(list(model.weights))

    def learning_rate(self, model):
        """The base rate that the optimizer holds; None if it has none that is a number."""
        return

    def settings_of_training(self, model, ordered_updates):
        """What else counts of a compiled model: fields of the event `training`.

        ordered_updates: whether kbench puts gradients, updates and step counter in order.
        """
        return {}

    def unusual(self, model, spec):
        """[a sentence without its full stop] on each setting that the example's file has changed."""
        return []

    def trial(self, model, example, device):
        """A Trial of a compiled model (trials.py)."""
        raise NotImplementedError

    def calls(self, example, steps):
        """How often the compiled function is called in an epoch of `steps` steps."""
        return -(-steps // getattr(example, "STEPS_PER_EXECUTION", 1))

    def train_epoch(self, model, epoch, given, clock, callbacks):
        """Train for one epoch, the first is 1; returns {"loss": ..., each metric: its value}.

        given: of `of_epoch` in feeding.py. clock: an EpochClock, whose `begin` and `finish` are called around the
        batches. callbacks: of Keras.
        """
        raise NotImplementedError

    def compilations(self):
        """How often this process has compiled or traced what it trains; None if that is not counted."""
        return

    def fallbacks(self, model):
        """[a sentence without its full stop] on each thing that trains in a slower way than Keras could."""
        return []

    def transfer(self, model, arrays):
        """Copy the arrays to the model's device and a number back; raises NotImplementedError if unknown how."""
        raise NotImplementedError

    def allocator_peak_mib(self, model):
        """Peak memory of the framework's own allocator on the model's GPU, in MiB; None on the CPU, or if unknown."""
        try:
            peak = self.allocator_peak_bytes(model) if self.device(model) == "gpu" else None
        except Exception:  # everything is measured by then: the cell must not fail
            traceback.print_exc()
            return None
        return None if peak is None else peak / 2.0**20

    def allocator_peak_bytes(self, model):
        """The same in bytes, of a model on a GPU; may raise anything."""
        return

    def threads(self):
        """{name of a setting: its value} as the framework holds it; 0 is its own choice. May raise anything."""
        return {}


class OnPyTorch:
    """What PyTorch does, with Keras and without."""

    def wait(self, model, outputs=None):
        if self.module.cuda.is_available():
            self.module.cuda.synchronize()

    def pending(self, outputs):
        if not self.module.cuda.is_available():
            return None
        event = self.module.cuda.Event(blocking=True)  # one that does not spin
        event.record()
        return event.query, event.synchronize

    def allocator_peak_bytes(self, model):
        return self.module.cuda.max_memory_allocated()

    def threads(self):
        return {"intra_op": self.module.get_num_threads(), "inter_op": self.module.get_num_interop_threads()}


class OnTensorFlow2:
    """What TensorFlow 2 does, with Keras and without."""

    def pending(self, outputs):
        return None

    def threads(self):
        of = self.module.config.threading
        return {"intra_op": of.get_intra_op_parallelism_threads(), "inter_op": of.get_inter_op_parallelism_threads()}


class OnMXNet:
    """What MXNet does, with Keras and without."""

    def wait(self, model, outputs=None):
        self.module.nd.waitall()

    def pending(self, outputs):
        return None  # the loss has been read


class DoneOnReturn:
    """A framework whose functions return when their work on the device is done."""

    def wait(self, model, outputs=None):
        pass

    def pending(self, outputs):
        return None
