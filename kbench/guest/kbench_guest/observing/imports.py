"""Calls something before and after a module is imported, and gives a program Keras itself as `tensorflow.keras`."""

import ast
import bisect
import builtins
import contextlib
import importlib
import importlib.util
import os
import sys
import types


class Watched(object):
    """A finder that wraps the loaders of some modules. It comes first in sys.meta_path, and finds nothing itself.

    modules: {name: (before, after)}; `before`, which may be None, is called with nothing and `after` with the module.
    """

    def __init__(self, modules):
        self._modules = modules
        self._finding = set()

    def find_spec(self, name, path=None, target=None):
        if name not in self._modules or name in self._finding:
            return None
        self._finding.add(name)
        try:
            found = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            found = None
        finally:
            self._finding.discard(name)
        if found is not None and found.loader is not None:
            found.loader = _Loader(found.loader, *self._modules[name])
        return found


class _Loader(object):
    """A loader with something done before and after it."""

    def __init__(self, loader, before, after):
        self._loader = loader
        self._before = before
        self._after = after

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self._loader
        if self._before is not None:
            self._before()
        self._loader.exec_module(module)
        self._after(module)

    def __getattr__(self, name):
        return getattr(self._loader, name)


class NotServed(AttributeError):
    """The program uses something of TensorFlow that this backend does not have."""

    TEXT = "this backend has no TensorFlow"  # which Keras may put into an error of its own


class NotInstalled(ImportError):
    """The program imports something of TensorFlow that this backend does not have."""


class Missing(types.ModuleType):
    """Stands in for TensorFlow on a backend without it: it has `keras` and `random.set_seed`, nothing else.

    report: called with the name of anything else that the program asks for. seed: takes the place of set_seed.
    """

    __version__ = "0 (served by kbench)"

    def __init__(self, name, report, seed):
        super(Missing, self).__init__(name)
        self._report, self._seed = report, seed

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        asked = "%s.%s" % (self.__name__, name)
        if asked == "tensorflow.keras":
            return importlib.import_module("keras")
        if asked == "tensorflow.random":
            return Missing(asked, self._report, self._seed)
        if asked == "tensorflow.random.set_seed":
            return self._seed
        self._report(asked)
        raise NotServed("there is no %s: %s" % (asked, NotServed.TEXT))


class KerasOfTensorFlow(object):
    """Takes the place of `__import__`: the program's own `tensorflow.keras` is Keras itself.

    Other imports stay as they are: Keras itself asks whether there is a TensorFlow. absent: whether there is none;
    then the program's `tensorflow` has Keras and nothing else.
    """

    def __init__(self, files, absent, report, seed):
        self._files = files
        self._missing = Missing("tensorflow", report, seed) if absent else None
        self._report = report
        self._import = builtins.__import__
        builtins.__import__ = self

    def __call__(self, name, globals=None, locals=None, fromlist=(), level=0):
        below = name.split(".")
        if level or below[0] != "tensorflow" or not self._files.named(str((globals or {}).get("__file__", ""))):
            return self._import(name, globals, locals, fromlist, level)
        found = self._missing
        if below[1:2] == ["keras"]:
            keras = importlib.import_module(".".join(below[1:]))
            if fromlist:
                return keras
        elif self._missing is not None and len(below) > 1:
            self._report(name)
            raise NotInstalled("there is no %s: this backend has no TensorFlow" % name)
        if found is None:
            found = self._import(name if below[1:2] != ["keras"] else "tensorflow", globals, locals, fromlist, level)
            sys.modules["tensorflow"].keras = importlib.import_module("keras")
        return found


class Files(object):
    """The files of a program: those in its folder. main: the path of the one that is run, as it is called too."""

    def __init__(self, path, main):
        self.path = path
        self.main = main
        self._folder = os.path.dirname(path) + os.sep
        self._statements = {}  # a file's name -> the lines where its statements begin

    def named(self, file):
        """The file's name below the folder; "" if it lies elsewhere."""
        file = self.path if file == self.main else file
        return file[len(self._folder) :] if file.startswith(self._folder) else ""

    def line(self):
        """(name, line where the statement begins) of the innermost frame in one of them; ("", 0) if there is none.

        Of a call over several lines Python 3.6 names the last, and later ones the first.
        """
        frame = sys._getframe(1)
        while frame is not None:
            name = self.named(frame.f_code.co_filename)
            if name:
                return name, self._statement(name, frame.f_lineno)
            frame = frame.f_back
        return "", 0

    def _statement(self, name, line):
        if name not in self._statements:
            found = []
            with contextlib.suppress(OSError, SyntaxError, ValueError), open(self._folder + name, "rb") as file:
                found = [node.lineno for node in ast.walk(ast.parse(file.read())) if isinstance(node, ast.stmt)]
            self._statements[name] = sorted(found)
        before = bisect.bisect_right(self._statements[name], line)
        return self._statements[name][before - 1] if before else line
