"""A user's program, run as it would run by itself, on the backend that was asked for; what it does is observed."""

import builtins
import importlib
import os
import random
import re
import sys
import time
import traceback
import types

from kbench_guest.observing import shims
from kbench_guest.observing.imports import Files, KerasOfTensorFlow, NotServed, Watched
from kbench_guest.protocol import Refused, reason
from kbench_guest.turns import Turns, held_seconds

# Packages that are imported under another name than they are installed by.
INSTALLED_AS = {
    "PIL": "pillow", "cv2": "opencv-python-headless", "pylab": "matplotlib", "skimage": "scikit-image",
    "sklearn": "scikit-learn", "yaml": "pyyaml",
}  # fmt: skip
PIP = re.compile(r"pip install `?([\w-]+)")


class Script(object):
    """The program of a spec, and what is known of it while it runs."""

    def __init__(self, spec, events):
        self._spec = spec
        self._events = events
        self._program = dict(spec["script"], init=spec["init"], seed=spec["seed"])
        self._file = self._program["file"]
        self._files = Files(self._file, _as_named(self._file))
        self._calls = None
        self._shims = None
        self._framework = None
        self._missing = ""  # what it uses of TensorFlow that is not there
        self._asked = None  # the KERAS_BACKEND that it sets itself
        self._importing = 0.0
        self._started = 0.0
        self._told = False

    def run(self):
        """Run it; returns its exit status, or lets its SystemExit pass."""
        sys.path[0] = os.path.dirname(self._file)
        if self._program["packages_folder"]:
            sys.path.append(os.path.expanduser(self._program["packages_folder"]))
        self._watch_imports()
        random.seed(self._spec["seed"])
        self._leave, os._exit = os._exit, self._exit
        self._pid = os.getpid()
        sys.argv = [self._files.main] + list(self._program["arguments"])
        module = types.ModuleType("__main__")
        module.__dict__.update(
            __file__=self._file if sys.version_info >= (3, 9) else sys.argv[0], __builtins__=builtins, __cached__=None
        )
        sys.modules["__main__"] = module
        self._started = time.perf_counter()
        try:
            with open(self._file, "rb") as file:
                code = compile(file.read(), module.__file__, "exec", dont_inherit=True)
            exec(code, module.__dict__)
        except SystemExit as stop:
            self._finish(_status(stop.code))
            raise
        except BaseException as error:
            self._fail(error)
            return 1
        self._finish(0)
        return 0

    # imports

    def _watch_imports(self):
        nothing = types.SimpleNamespace  # called, and thrown away
        modules = {"keras": (self._before_keras, self._after_keras), "numpy": (nothing, self._after_numpy)}
        alone = not _is_there("tensorflow")
        old = not _is_there("keras", "src")
        sys.meta_path.insert(0, Watched(modules))
        if old or alone:  # TensorFlow 1 has a Keras of its own, which is not the one that is measured
            KerasOfTensorFlow(self._files, alone, self._lacks, self._seed)

    def _after_numpy(self, module):
        module.random.seed(self._spec["seed"])

    def _before_keras(self):
        self._asked = os.environ.pop("KERAS_BACKEND", None)
        os.environ["KERAS_HOME"] = os.path.join(os.path.dirname(self._spec["events"]), "keras_home")
        self._importing = time.perf_counter()

    def _after_keras(self, module):
        seconds = time.perf_counter() - self._importing
        if self._asked is not None:
            os.environ["KERAS_BACKEND"] = self._asked
        from kbench_guest import frameworks, process
        from kbench_guest.drivers.model_file import check_loaded
        from kbench_guest.observing import downloads
        from kbench_guest.observing.calls import Calls

        self._events.write("phase", name="import", seconds=seconds)
        self._events.write("memory", at="import", peak_mib=process.peak_memory_mib())
        self._framework = frameworks.load()
        self._framework.prepare()
        check_loaded(self._spec, self._framework.versions(), self._events)
        self._seed(self._spec["seed"])
        get_file = getattr(getattr(module, "utils", None), "get_file", None)
        if get_file is not None:
            downloads.share(get_file, os.path.expanduser(self._program["downloads"]), self._program["files"])
        if self._program["shims"]:
            self._shims = shims.Shims(module)
            self._shims.install()
        if self._spec["parity"]:
            from kbench_guest.drivers.script_parity import FirstModel

            self._calls = FirstModel(self._framework, self._spec, self._events, self._end)
        else:
            self._calls = Calls(self._framework, self._events, Turns(0), self._program, self._files)
        self._calls.watch(module.models.Model)

    def _seed(self, number):
        """Seed the backend, and leave Python's and numpy's numbers as the program has them."""
        if self._framework is None:
            importlib.import_module("keras")
        import numpy

        held = random.getstate(), numpy.random.get_state()
        self._framework.seed(number)
        random.setstate(held[0])
        numpy.random.set_state(held[1])

    def _lacks(self, name):
        if not self._missing:
            self._missing = "line %d uses %s" % (self._files.line()[1], name)

    # its end

    def _end(self, status):
        """End the program where it is."""
        if status:
            self._tell(status)
        else:
            self._finish(status)
        sys.stdout.flush()
        sys.stderr.flush()
        self._leave(status)

    def _exit(self, status):
        """In place of os._exit: what is known is written before."""
        if os.getpid() == self._pid:
            self._finish(status)
        self._leave(status)

    def _fail(self, error):
        """Show the error as Python does, without the frames of kbench, and tell of it."""
        trace = error.__traceback__.tb_next  # the first frame is this file's
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        kind, message = reason(error)["kind"], reason(error)["message"]
        if self._missing and (isinstance(error, (NotServed, ImportError)) or NotServed.TEXT in str(error)):
            kind, message = "unsupported", "%s, and this backend has no TensorFlow" % self._missing
        elif isinstance(error, ImportError) and _package(error) in self._absent():
            kind = "unsupported"
            message = "line %d imports %s, which this backend has not got" % (self._line(trace), _package(error))
        elif isinstance(error, SyntaxError):
            message = "line %s is no Python %d.%d: %s" % (
                error.lineno,
                sys.version_info[0],
                sys.version_info[1],
                error.msg,
            )
        elif not isinstance(error, Refused):
            if isinstance(error, NotImplementedError) and not _is_ours(trace, self._files):
                kind = "unsupported"
            line = self._line(trace)
            message = ("line %d: " % line if line else "") + message
            if isinstance(error, ModuleNotFoundError) and not _is_there(_package(error)):
                message += "; --with %s installs it" % INSTALLED_AS.get(_package(error), _package(error))
            elif isinstance(error, ImportError) and PIP.search(message):
                message += "; --with %s installs it" % PIP.search(message).group(1)
            elif not self._program["shims"] and shims.SERVED.search(message):
                message += "; --shims may serve it"
        self._tell(1)
        self._events.write("error", kind=kind, message=message)

    def _absent(self):
        """The frameworks that cannot be imported."""
        return [name for name in self._program["frameworks"] if not _is_there(name)]

    def _line(self, trace):
        """The last line of the program's own that led there; 0 if there is none."""
        lines = [one.lineno for one in traceback.extract_tb(trace) if self._files.named(one.filename)]
        return lines[-1] if lines else 0

    def _finish(self, status):
        """The last events of a program that ended by itself."""
        self._tell(status)
        if self._spec["parity"] and not getattr(self._calls, "done", False):
            text = "it trains no model by fit or train_on_batch, so there is nothing to compare"
            self._events.write("error", kind="unsupported", message=text)
            return
        self._events.write("end", seconds=time.perf_counter() - self._started - held_seconds())

    def _tell(self, status):
        if self._told:
            return
        self._told = True
        seconds = time.perf_counter() - self._started - held_seconds()
        if self._calls is not None:
            self._calls.flush()
        if self._shims is not None and self._shims.used:
            text = "not quite as it was written: --shims served %s" % ", ".join(self._shims.used)
            self._events.write("note", text=text)
        broken = self._calls.broken if self._calls is not None else ""
        keras = int(self._framework is not None)
        self._events.write("program", seconds=seconds, exit_status=status, keras=keras, broken=broken)
        if self._framework is None:
            return
        from kbench_guest import process

        process.report(self._framework, self._events)


def run(spec, events):
    """Run the program of the spec; its exit status."""
    return Script(spec, events).run()


def _package(error):
    """The package that could not be imported."""
    return (getattr(error, "name", None) or "").partition(".")[0]


def _is_ours(trace, files):
    """Whether the program's own code raised it."""
    frames = traceback.extract_tb(trace)
    return not frames or bool(files.named(frames[-1].filename))


def _as_named(file):
    """The file as its user would name it in the folder where it starts."""
    name = os.path.relpath(file)
    return file if name.startswith(os.pardir) else name


def _status(code):
    """The exit status that sys.exit(code) leads to."""
    return 0 if code is None else code & 255 if isinstance(code, int) else 1


def _is_there(name, inside=""):
    """Whether a package can be imported, and has a folder `inside`; nothing is imported."""
    found = importlib.util.find_spec(name)
    if found is None:
        return False
    return not inside or any(
        os.path.isdir(os.path.join(one, inside)) for one in found.submodule_search_locations or ()
    )
