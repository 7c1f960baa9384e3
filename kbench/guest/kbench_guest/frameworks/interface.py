"""What kbench asks of a framework, with answers that hold for one that nobody knows."""

import traceback

from kbench_guest.protocol import Refused


class Framework(object):
    """One framework. Subclasses answer more; what is missing below has to be answered by each."""

    eager = False  # whether a model can be called with numbers, and is traced when it trains

    def versions(self):
        """(version of the library that the model is written in, version of the framework below it)."""
        raise NotImplementedError

    def prepare(self):
        """Change what must be changed before a model is made; nothing as a rule."""

    def seed(self, number):
        """Seed what draws random numbers while a model trains: dropout. Each framework has a stream of its own."""
        raise NotImplementedError

    def device(self, model):
        """'cpu' or 'gpu': where the framework keeps the model's weights or runs its operations; 'unknown' if it
        cannot be asked."""
        return "unknown"

    def set_policy(self, policy):
        """Let the layers that are made from now on compute by this dtype policy. Raises Refused."""
        raise Refused("unsupported", "it has no dtype policies")

    def set_jit(self, model, on):
        """Let a compiled model be compiled with XLA and the like, or not. Raises Refused."""
        raise Refused("unsupported", "it has no jit_compile")

    def held_settings(self, model):
        """{"jit": "on" or "off", "computes_in": [dtypes of its layers' arithmetic]} of a model; {} if it has none."""
        return {}

    def wait(self, model, outputs=None):
        """Return when all work on the device is done, so that the clock can be read.

        outputs: what the model's function has just returned, while fit is still under way.
        A weight can be copied only after the update that changes it.
        """
        self.values((list(model.trainable_weights) or list(model.weights))[:1])

    def pending(self, outputs):
        """(is_done, wait) of the step that gave these outputs, two functions; None if the step is done already.

        is_done says whether its work on the device is done; wait returns when it is, and waits for nothing begun
        later. Raises NotImplementedError if nobody knows.
        """
        raise NotImplementedError

    def describe(self, model):
        """[layer class, settings, shapes of its weights] of each layer, in words that all frameworks share."""
        raise NotImplementedError

    def weights(self, model):
        """[(layer, its weights as float32 arrays in the layout that all frameworks share)], as they are now."""
        raise NotImplementedError

    def values(self, weights):
        """The values of many weights, as arrays of their own."""
        raise NotImplementedError

    def step_hook(self, model, kind, wrap):
        """Let training ('train') or prediction ('predict') call wrap(function) in place of its compiled function."""
        raise NotImplementedError

    def calls(self, example, steps):
        """How often the compiled function is called in an epoch of so many steps."""
        return -(-steps // getattr(example, "STEPS_PER_EXECUTION", 1))

    def train_epoch(self, model, epoch, given, clock, callbacks):
        """Train for one epoch, the first is 1; returns {"loss": ..., each metric: its value}.

        given: of `of_epoch` in feeding.py. clock: an EpochClock, whose `begin` and `finish` are called around the
        batches. callbacks: of Keras.
        """
        raise NotImplementedError

    def compilations(self):
        """How often this process has compiled or traced what it trains, so far; None if nobody counts."""
        return

    def allocator_peak_mib(self, model):
        """The most that the framework's own allocator had given out at once on the model's GPU, in MiB.

        None on the CPU, and if the framework does not say.
        """
        try:
            peak = self.allocator_peak_bytes(model) if self.device(model) == "gpu" else None
        except Exception:  # all is measured by then: the cell must not fail
            traceback.print_exc()
            return None
        return None if peak is None else peak / 2.0**20

    def allocator_peak_bytes(self, model):
        """The same in bytes, of a model on a GPU; may raise anything."""
        return

    def threads(self):
        """{name of a setting: its value} as the framework holds it; 0 is its own choice. {} if it does not say."""
        try:
            return self.thread_settings()
        except Exception:  # another version of the framework: the cell must not fail
            return {}

    def thread_settings(self):
        """The same; may raise anything."""
        return {}


class DoneOnReturn(object):
    """A framework whose functions return when their work on the device is done."""

    def wait(self, model, outputs=None):
        pass

    def pending(self, outputs):
        return None
