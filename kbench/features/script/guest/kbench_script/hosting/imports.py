"""Calls something before and after a module is imported, and gives a program Keras itself as `tensorflow.keras`."""

import builtins
import importlib
import importlib.machinery
import importlib.util
import os
import sys
import types
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Sequence, Set, Tuple

if TYPE_CHECKING:
    from kbench_script.program_files import Files


class Watched:
    """A finder that wraps the loaders of some modules. It comes first in sys.meta_path, and finds nothing itself.

    modules: {name: (before, after)}; `before`, which may be None, is called with nothing and `after` with the module.
    """

    def __init__(self, modules: Dict[str, Tuple[Optional[Callable[[], None]], Callable[[Any], None]]]) -> None:
        self._modules = modules
        self._finding: Set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
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
            loader: Any = _Loader(found.loader, *self._modules[name])
            found.loader = loader
        return found


class _Loader:
    """A loader with something done before and after it."""

    def __init__(self, loader: Any, before: Optional[Callable[[], None]], after: Callable[[Any], None]) -> None:
        self._loader = loader
        self._before = before
        self._after = after

    def exec_module(self, module: Any) -> None:
        module.__loader__ = module.__spec__.loader = self._loader
        if self._before is not None:
            self._before()
        self._loader.exec_module(module)
        self._after(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class NotServed(AttributeError):
    """The program uses something of TensorFlow that this backend does not have."""

    TEXT = "this backend has no TensorFlow"  # which Keras may put into an error of its own


class NotInstalled(ImportError):
    """The program imports something of TensorFlow that this backend does not have."""


class MissingModule(types.ModuleType):
    """Stands in for TensorFlow on a backend without it: it has `keras` and `random.set_seed`, nothing else.

    report: called with the name of anything else that the program asks for. seed: takes the place of set_seed.
    """

    __version__ = "0 (served by kbench)"

    def __init__(self, name: str, report: Callable[[str], None], seed: Callable[[int], None]) -> None:
        super().__init__(name)
        self._report, self._seed = report, seed

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        asked = f"{self.__name__}.{name}"
        if asked == "tensorflow.keras":
            return importlib.import_module("keras")
        if asked == "tensorflow.random":
            return MissingModule(asked, self._report, self._seed)
        if asked == "tensorflow.random.set_seed":
            return self._seed
        self._report(asked)
        raise NotServed(f"there is no {asked}: {NotServed.TEXT}")


class KerasOfTensorFlow:
    """Takes the place of `__import__`: the program's own `tensorflow.keras` is Keras itself.

    Other imports stay as they are: Keras itself asks whether there is a TensorFlow. absent: whether there is none;
    then the program's `tensorflow` has Keras and nothing else.
    """

    def __init__(
        self, files: "Files", absent: bool, report: Callable[[str], None], seed: Callable[[int], None]
    ) -> None:
        self._files = files
        self._missing = MissingModule("tensorflow", report, seed) if absent else None
        self._report = report
        self._import = builtins.__import__
        builtins.__import__ = self  # type: ignore[assignment]

    def __call__(
        self,
        name: str,
        globals: Optional[Dict[str, Any]] = None,
        locals: Optional[Dict[str, Any]] = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> Any:
        below = name.split(".")
        if level or below[0] != "tensorflow" or not self._files.has(globals or {}):
            return self._import(name, globals, locals, fromlist, level)
        found: Any = self._missing
        if below[1:2] == ["keras"]:
            keras = importlib.import_module(".".join(below[1:]))
            if fromlist:
                return keras
        elif self._missing is not None and len(below) > 1:
            self._report(name)
            raise NotInstalled(f"there is no {name}: this backend has no TensorFlow")
        if found is None:
            found = self._import(name if below[1:2] != ["keras"] else "tensorflow", globals, locals, fromlist, level)
            tensorflow: Any = sys.modules["tensorflow"]
            tensorflow.keras = importlib.import_module("keras")
        return found


def is_there(name: str, inside: str = "") -> bool:
    """Whether a package can be imported, and has a folder `inside`. Nothing is imported."""
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    folders = found.submodule_search_locations or () if found else ()
    return found is not None and (not inside or any(os.path.isdir(os.path.join(one, inside)) for one in folders))
