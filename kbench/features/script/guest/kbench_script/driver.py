"""Runs a user's program as Python would, on the backend that was asked for, and observes what it does."""

import importlib
import json
import os
import random
import shutil
import sys
import time
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Set, Tuple

from kbench_guest import parts
from kbench_guest.frameworks import legacy_keras
from kbench_guest.turns import TurnClient
from kbench_script.hosting import program
from kbench_script.hosting.errors import own_frames, show_error
from kbench_script.hosting.imports import KerasOfTensorFlow, Watched, is_there
from kbench_script.hosting.reasons import in_words, reason_of
from kbench_script.hosting.warned import Warned
from kbench_script.program_files import Files
from kbench_script.watching import overhead

if TYPE_CHECKING:
    from kbench_guest.protocol import Events


def main(spec: Dict[str, Any], events: "Events") -> int:
    """Run the program that a cell's spec describes; returns its exit status, or raises its SystemExit."""
    for name in ("folder", "file"):
        spec["script"][name] = os.path.expanduser(spec["script"][name])
    return ScriptRun(spec, events).run()


class ScriptRun:
    """The program of a spec, and what is known of it while it runs."""

    def __init__(self, spec: Dict[str, Any], events: "Events") -> None:
        self._spec = spec
        self._events = events
        self._program = dict(spec["script"], init=spec["init"], seed=spec["seed"])
        self._files = Files(self._program["file"], _as_named(self._program["file"]), self._program["folder"])
        self._home = os.path.join(os.path.dirname(spec["events"]), "keras_home")
        self._calls: Any = None
        self._parts: List[Any] = []  # of features
        self._framework: Any = None
        self._missing = ""  # the first thing that it uses of a TensorFlow that this backend lacks
        self._asked: Optional[str] = None  # the KERAS_BACKEND that it sets itself
        self._remarks: List[str] = []  # on the data that it got
        self._random: List[Tuple[Any, Any]] = []  # states of Python's and numpy's numbers, before imports under way
        self._warnings: Set[str] = set()
        self._reported = False
        self._importing = 0.0  # when the import of Keras began; 0 before that
        self._framework_began = 0.0  # when an import of its framework began that goes on
        self._framework_seconds = 0.0  # of the import of its framework before that

    def run(self) -> int:
        """Run the program; returns its exit status, or raises its SystemExit."""
        sys.path[0] = self._program["folder"]
        if self._program["packages_folder"]:
            sys.path.append(os.path.expanduser(self._program["packages_folder"]))
        self._pid = os.getpid()
        self._watch_imports()
        self._choose_for_children()
        random.seed(self._spec["seed"])
        self._shift(random, "seed")
        self._leave, os._exit = os._exit, self._exit
        secret = os.environ.pop("KBENCH_ARGUMENTS", "")  # where the spec, which is kept, has them masked
        arguments = json.loads(secret) if secret else self._program["arguments"]
        self._started = overhead.now()
        try:
            program.run(self._program, self._files, arguments, self._remark)
        except SystemExit as stop:
            self._finish(_status(stop.code))
            raise
        except BaseException as error:
            self._fail(error)
            return 1
        self._finish(0)
        return 0

    # imports

    def _watch_imports(self) -> None:
        modules: Dict[str, Tuple[Any, Any]] = {
            legacy_keras.package(): (self._before_keras, self._after_keras),
            "numpy": (None, self._after_numpy),
            "jax": (self._hold_random, self._put_random_back),
        }
        framework = self._spec["keras_backend"].partition(".")[0]
        if framework not in ("numpy", *modules) or framework == "jax":
            modules[framework] = self._before_framework, self._after_framework
        if legacy_keras.PACKAGE not in modules:
            modules[legacy_keras.PACKAGE] = None, self._after_other_keras
        sys.meta_path.insert(0, Watched(modules))
        # By its own name: to look for `keras` would import tf_keras before the program does.
        absent, old = not is_there("tensorflow"), not is_there(legacy_keras.package(), "src")
        if old or absent:  # TensorFlow 1 has a Keras of its own, which is not the one that is measured
            KerasOfTensorFlow(self._files, absent, self._lacks, self._seed)

    def _choose_for_children(self) -> None:
        """Let Python processes that the program starts load Keras as this one does."""
        in_children = os.path.join(os.path.dirname(program.__file__), "in_children.py")
        shutil.copyfile(in_children, os.path.join(self._home, "sitecustomize.py"))
        shutil.copyfile(legacy_keras.__file__, os.path.join(self._home, "legacy_keras.py"))
        more = [self._home, os.path.expanduser(self._program["packages_folder"]), os.environ.get("PYTHONPATH")]
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, more))

    def _after_numpy(self, module: Any) -> None:
        module.random.seed(self._spec["seed"])
        self._shift(module.random, "seed")

    def _hold_random(self) -> None:
        """JAX draws numbers when it is imported: the program's data would depend on the backend."""
        numpy = sys.modules.get("numpy")
        self._random.append((random.getstate(), numpy.random.get_state() if numpy else None))

    def _put_random_back(self, _module: Any) -> None:
        held = self._random.pop()
        random.setstate(held[0])
        if held[1] is not None:
            sys.modules["numpy"].random.set_state(held[1])
        elif "numpy" in sys.modules:
            self._after_numpy(sys.modules["numpy"])

    def _before_framework(self) -> None:
        """Of the backend: a program that imports it before Keras has imported a part of Keras."""
        self._hold_random()
        self._framework_began = time.perf_counter()

    def _after_framework(self, module: Any) -> None:
        if not self._importing:
            self._framework_seconds += time.perf_counter() - self._framework_began
        self._framework_began = 0.0
        self._put_random_back(module)

    def _after_other_keras(self, _module: Any) -> None:
        self._remark(f"{in_words(*self._files.line())} also imports {legacy_keras.PACKAGE}, which is not observed")

    def _before_keras(self) -> None:
        self._hold_random()
        self._asked = os.environ.pop("KERAS_BACKEND", None)
        os.environ["KERAS_HOME"] = self._home
        self._importing = self._framework_began or time.perf_counter()  # some frameworks import Keras themselves

    def _after_keras(self, module: Any) -> None:
        seconds = time.perf_counter() - self._importing + self._framework_seconds
        if self._asked is not None:
            os.environ["KERAS_BACKEND"] = self._asked
        from kbench_guest import downloads, frameworks, process
        from kbench_guest.proof.as_asked import check_loaded
        from kbench_script.watching import row_settings
        from kbench_script.watching.calls import Calls

        observed = os.getpid() == self._pid
        if observed:
            self._events.write("phase", name="import", seconds=seconds)
            self._events.write("memory", at="import", peak_mib=process.peak_memory_mib())
        self._framework = frameworks.load()
        self._framework.prepare()
        if observed:
            check_loaded(self._spec, self._framework.versions(), self._events)
        self._put_random_back(module)
        self._seed(self._spec["seed"])
        self._shift(getattr(module, "utils", None), "set_random_seed")
        downloads.share(module, self._program["downloads"], self._program["files"], self._remark)
        self._parts = [parts.imported(one).begin(module) for one in self._program["parts"]]
        if self._spec["policy"]:
            self._framework.set_policy(self._spec["policy"])
        if not observed:  # a child of the program
            return
        row_settings.watch(module.models.Model, self._framework, self._spec, self._events)
        if self._spec["part"]:
            given = (self._framework, self._spec, self._events, self._end, self._files)
            self._calls = parts.driver(self._spec).in_program(*given)
        else:
            self._calls = Calls(self._framework, self._events, TurnClient(0), self._program, self._files)
        self._calls.watch(module.models.Model)
        Warned(self._warned).watch()

    def _seed(self, number: int) -> None:
        """Seed the backend, and leave Python's and numpy's random state as the program has it."""
        if self._framework is None:
            importlib.import_module("keras")
        import numpy

        held = random.getstate(), numpy.random.get_state()
        self._framework.seed(number)
        random.setstate(held[0])
        numpy.random.set_state(held[1])

    def _shift(self, owner: Any, name: str) -> None:
        """Let the program's own seed be another one in each repeat, where the repeats have seeds of their own."""
        original = getattr(owner, name, None)
        if not self._program.get("shift_seeds") or original is None or hasattr(original, "shifted"):
            return

        def seed(*args: Any, **kwargs: Any) -> Any:
            if self._files.is_own(sys._getframe(1).f_code.co_filename):
                args = tuple(one + self._spec["seed"] if isinstance(one, int) else one for one in args)
                kwargs = {
                    key: one + self._spec["seed"] if isinstance(one, int) else one for key, one in kwargs.items()
                }
            return original(*args, **kwargs)

        seed.shifted = True  # type: ignore[attr-defined]
        setattr(owner, name, seed)

    def _remark(self, text: str) -> None:
        if text not in self._remarks:
            self._remarks.append(text)
            self._events.write("note", text=text)

    def _warned(self, text: str) -> None:
        """Write what the program is warned of, with its line; not what kbench's own work at its end brings up."""
        if self._reported or os.getpid() != self._pid or text in self._warnings:
            return
        self._warnings.add(text)
        where, line = self._files.line()
        self._events.write("warning", text=text, where=in_words(where, line) if line else "")

    def _lacks(self, name: str) -> None:
        self._missing = self._missing or f"{in_words(*self._files.line())} uses {name}"

    # its end

    def _end(self, status: int) -> None:
        """End the program where it is."""
        (self._report if status else self._finish)(status)
        sys.stdout.flush()
        sys.stderr.flush()
        self._leave(status)

    def _exit(self, status: int) -> None:
        """In place of os._exit: writes the last events first."""
        if os.getpid() == self._pid:
            self._finish(status)
        self._leave(status)

    def _fail(self, error: BaseException) -> None:
        """Show the error as Python does, without the frames of kbench, and write its event."""
        trace = own_frames(error.__traceback__)
        show_error(type(error), error.with_traceback(trace), trace)
        found = reason_of(error, trace, self._files, self._program, self._missing)
        self._report(1)
        self._events.write("error", **found)
        for one in self._spec["on_error"]:
            parts.imported(one).tell(error, self._events)

    def _finish(self, status: int) -> None:
        """Write the last events of a program that ended by itself."""
        self._report(status)
        found = self._calls.finish() if self._calls is not None else False
        if self._spec["part"] and not found:
            text = "it trains no model by fit or train_on_batch and runs none, so there is nothing to compare"
            self._events.write("error", kind="unsupported", message=text)
            return
        self._events.write("end", seconds=overhead.now() - self._started)

    def _report(self, status: int) -> None:
        """Write what is known of the program, once."""
        if self._reported:
            return
        self._reported = True
        seconds = overhead.now() - self._started
        broken = ""
        if self._calls is not None:
            self._calls.flush()
            broken = self._calls.broken
        for text in filter(None, (one.note() for one in self._parts)):
            self._events.write("note", text=text)
        for name in self._program.get("figures", ()):
            if name.isidentifier():  # else it is a pattern of what it prints, which the host looks for
                self._figure(name)
        keras = int(self._framework is not None)
        self._events.write("program", seconds=seconds, exit_status=status, keras=keras, broken=broken)
        if self._framework is not None:
            from kbench_guest import process

            process.report(self._framework, self._events)

    def _figure(self, name: str) -> None:
        """Write a variable of the program."""
        try:
            value = float(vars(sys.modules["__main__"])[name])
        except KeyError:
            self._remark(f"it has no variable {name} at its end")
        except Exception as error:
            self._remark(f"its variable {name} is no number ({type(error).__name__})")
        else:
            if value - value == 0.0:  # it is finite
                self._events.write("figure", name=name, value=value)


def _as_named(file: str) -> str:
    """The file relative to the current folder, if it lies in it."""
    name = os.path.relpath(file)
    return file if name.startswith(os.pardir) else name


def _status(code: Any) -> int:
    """The exit status that sys.exit(code) leads to."""
    return 0 if code is None else code & 255 if isinstance(code, int) else 1
