"""Stands in for IPython in a notebook, and in what `jupyter nbconvert` makes of one.

What changes nothing that is measured does nothing, what can be served is served, and the rest is said.
"""

import contextlib
import importlib.abc
import importlib.machinery
import os
import re
import runpy
import subprocess
import sys
import types
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional

if TYPE_CHECKING:
    from kbench_script.program_files import Files

# What needs no word: it is about images, the page, or reloading.
SILENT = (
    "matplotlib", "load_ext", "reload_ext", "unload_ext", "autoreload", "config", "tensorflow_version", "precision",
    "pprint", "xmode", "colors", "html", "javascript", "js", "svg", "latex", "markdown", "notebook", "who", "whos",
)  # fmt: skip
AROUND = ("time", "timeit", "capture", "prun")
INSTALLERS = re.compile(
    r"\s*(sudo\s+)?(?P<what>(\S*python[\d.]*\s+-m\s+)?pip[\d.]*|uv(\s+pip)?|conda|mamba|apt|apt-get|brew)\s+"
    r"(\S+\s+)*?(install|add|update|upgrade|uninstall)\b(?P<packages>[^;&|]*)"
)
VALUE = re.compile(r"\{([^{}]+)\}|\$(\w+)")
NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


class LeftOut(Exception):
    """This cell is not for this backend."""


class Shell:
    """What get_ipython() returns. namespace: the program's; remark: called with what has to be said.

    program: the spec's part on it.
    """

    def __init__(self, namespace: Dict[str, Any], program: Dict[str, Any], remark: Callable[[str], None]) -> None:
        self.config: Dict[str, Any] = {}
        self.user_ns = namespace
        self._program = program
        self._remark = remark

    def run_line_magic(self, name: str, line: str, *_: Any) -> Any:
        if name in AROUND:
            return exec(line, self.user_ns)
        if name in ("pip", "conda", "mamba", "uv"):
            return self.system(f"{name} {line}")
        if name in ("sx", "system"):
            return self.getoutput(line)
        do = getattr(self, "_" + name, None) if name in ("cd", "env", "set_env", "run") else None
        if do is not None:
            return do(self._filled(line).strip())
        if name not in SILENT:
            self._remark(f"%{name} was left out: kbench runs without IPython")
        return None

    def run_cell_magic(self, name: str, line: str, cell: str) -> None:
        if name in AROUND:
            exec(cell, self.user_ns)
        elif name in ("bash", "sh", "script", "!", "sx", "system"):
            program = line.split() if name == "script" and line.split() else ["sh" if name == "sh" else "bash"]
            self._start(program, cell.encode("utf-8"))
        elif name == "writefile":
            words = line.split()
            with open(os.path.expanduser(words[-1].strip("'\"")), "a" if "-a" in words else "w") as file:
                file.write(cell)
        elif name == "backend":
            with contextlib.suppress(LeftOut):
                self.only_on(line.replace(",", " ").split())
                exec(cell, self.user_ns)
        elif name not in SILENT:
            self._remark(f"a cell with %%{name} was left out: kbench runs without IPython")

    def only_on(self, names: List[str]) -> None:
        """The rest of this cell is for these backends. Raises LeftOut on another one."""
        if not set(names) & set(self._program["names"]):
            raise LeftOut

    def magic(self, line: str) -> Any:
        name, _, rest = line.lstrip("%").partition(" ")
        return self.run_line_magic(name, rest)

    run_line_cell_magic = run_cell_magic

    def system(self, command: str) -> None:
        command = self._filled(command)
        installs = INSTALLERS.match(command)
        if installs:
            self._say_of(command.strip(), installs)
        else:
            self._start(["sh", "-c", command])

    def getoutput(self, command: str) -> List[str]:
        """The lines that a command prints."""
        command = self._filled(command)
        if INSTALLERS.match(command):
            self.system(command)
            return []
        done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, env=_own_python_first())
        return done.stdout.decode("utf-8", "replace").splitlines()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None

    def _start(self, command: List[str], given: Optional[bytes] = None) -> None:
        sys.stdout.flush()
        subprocess.run(command, input=given, env=_own_python_first())

    def _say_of(self, command: str, installs: Any) -> None:
        """That nothing is installed while a program is measured, and what installs it."""
        ours = {"keras"} | set(self._program["frameworks"])
        words = [one.strip("'\"") for one in installs.group("packages").split()]
        named = [one for one in words if NAME.match(one) and not one.endswith(".txt")]
        installed = {one.lower().replace("_", "-") for one in self._program["packages"]}
        wanted = []
        for one in named:
            name = NAME.match(one).group().lower().replace("_", "-")
            if name.split("-")[0] not in ours and name not in installed:
                wanted.append(one)
        if "pip" not in installs.group("what") and "uv" not in installs.group("what"):
            self._remark(f"`{command}` was not run: it would change this machine")
        elif wanted:
            self._remark(f"`{command}` was not run: --with {','.join(wanted)} installs it")
        elif not named:
            self._remark(f"`{command}` was not run: name its packages in --with")

    def _filled(self, text: str) -> str:
        """The text with {expressions} and $names of the program filled in, if they have values."""

        def value(found: Any) -> str:
            try:
                return str(eval(found.group(1) or found.group(2), self.user_ns))
            except Exception:  # it is the command's own
                return found.group()

        return VALUE.sub(value, text)

    def _cd(self, folder: str) -> None:
        words = [one for one in folder.split() if not one.startswith("-")]
        os.chdir(os.path.expanduser(" ".join(words).strip("'\"") or "~"))

    def _env(self, text: str) -> None:
        name, sign, value = text.partition("=" if "=" in text else " ")
        if sign:
            os.environ[name.strip()] = value.strip()

    _set_env = _env

    def _run(self, text: str) -> None:
        file = next(one for one in text.split() if not one.startswith("-")).strip("'\"")
        held, sys.argv = sys.argv, text.split()
        try:
            self.user_ns.update(runpy.run_path(file, run_name="__main__"))
        finally:
            sys.argv = held


class ShownValue:
    """Something that IPython would show on a page."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """There is no page."""

    def __call__(self, *args: Any, **kwargs: Any) -> "ShownValue":
        return self


class StandIn(types.ModuleType):
    """IPython and its modules, where it is not installed. shell: of the program; files: its own."""

    __path__: Any = ()
    version_info = (9, 0, 0)
    __version__ = "9.0 (served by kbench)"

    def __init__(self, name: str, shell: Shell, files: "Files") -> None:
        super().__init__(name)
        self._shell, self._files = shell, files

    def get_ipython(self) -> Optional[Shell]:
        """None for a library: it would want more of it."""
        caller = sys._getframe(1).f_code.co_filename
        return self._shell if self._files.is_own(caller) else None

    @staticmethod
    def display(*shown: Any, **_: Any) -> None:
        display(*shown)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return ShownValue


class Finder(importlib.abc.Loader):
    """Finds StandIn for IPython; the last in sys.meta_path."""

    def __init__(self, shell: Shell, files: "Files") -> None:
        self._given = shell, files

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        if name.partition(".")[0] == "IPython":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> StandIn:
        return StandIn(spec.name, *self._given)

    def exec_module(self, module: Any) -> None:
        """There is nothing to run."""


def display(*shown: Any, **_: Any) -> None:
    """As in a notebook, in text."""
    for one in shown:
        if not isinstance(one, ShownValue):
            print(one if isinstance(one, str) else repr(one))


def give(namespace: Dict[str, Any], program: Dict[str, Any], remark: Callable[[str], None], files: "Files") -> None:
    """Give the program get_ipython, display, and an IPython to import if there is none."""
    shell = Shell(namespace, program, remark)
    namespace.update(get_ipython=lambda: shell, display=display)
    sys.meta_path.append(Finder(shell, files))


def _own_python_first() -> Dict[str, str]:
    """The variables of a command: `python` is the Python of this backend."""
    folder = os.path.dirname(sys.executable)
    return dict(os.environ, PATH=folder + os.pathsep + os.environ.get("PATH", ""))
