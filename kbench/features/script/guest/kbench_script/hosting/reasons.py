"""Says in a sentence why a program failed: where in its own files, and what may help."""

import ast
import os
import re
import sys
import traceback
import types
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from kbench_guest.protocol import Refused, reason
from kbench_script.hosting.imports import NotServed, is_there

if TYPE_CHECKING:
    from kbench_script.program_files import Files

# Packages whose import name is not the name that installs them.
INSTALLED_AS = {
    "IPython": "ipython", "PIL": "pillow", "bs4": "beautifulsoup4", "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil", "pylab": "matplotlib", "skimage": "scikit-image", "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}  # fmt: skip
# And others that programs often need; of any other name nobody knows whose package it would be.
WELL_KNOWN = {
    "datasets", "gymnasium", "h5py", "jax", "joblib", "keras_cv", "keras_hub", "keras_nlp", "keras_tuner", "librosa",
    "matplotlib", "networkx", "nltk", "numba", "pandas", "plotly", "pydot", "pyarrow", "requests", "scipy", "seaborn",
    "statsmodels", "sympy", "tensorflow_datasets", "tensorflow_probability", "tqdm", "transformers", "xgboost",
}  # fmt: skip
# Frameworks that feed data to any backend of Keras 3: what installs them, and what programs use of them for that.
FEEDS = {
    "tensorflow": ("tensorflow-cpu", re.compile(r" tensorflow\.(data|io)\b")),
    "torch": ("torch", re.compile(r"\bDataLoader\b|\btorch\.utils\b")),
}
# google.colab is there on Colab alone; under both names others have put packages.
NOT_TO_INSTALL = {"google": "", "kbench": "; a program that kbench measures does without it"}
PIP = re.compile(r"pip install `?([\w-]+)")


def in_words(where: str, line: int) -> str:
    """A place in a program."""
    return f"{where + ', ' if where else ''}line {line}"


def reason_of(
    error: BaseException, trace: Optional[types.TracebackType], files: "Files", program: Dict[str, Any], missing: str
) -> Dict[str, Any]:
    """The fields of an error's event.

    program: the spec's part on it; missing: what it first used of a TensorFlow that is not there, with its line.
    """
    frames = traceback.extract_tb(trace)
    own = [(files.where(one.filename), one.lineno) for one in frames if files.is_own(one.filename)]
    package = (getattr(error, "name", None) or "").partition(".")[0]  # of an import
    absent = package in program["frameworks"] and not is_there(package)
    if missing and (isinstance(error, (NotServed, ImportError)) or NotServed.TEXT in str(error)):
        message = missing + ", and this backend has no TensorFlow" + _feeds("tensorflow", missing, program)
        return {"kind": "unsupported", "message": message}
    if isinstance(error, ImportError) and absent:
        message = f"{in_words(*(own or [('', 0)])[-1])} imports {package}, which this backend does not have"
        return {"kind": "unsupported", "message": message + _feeds(package, files.text(), program)}
    found = reason(error)
    if isinstance(error, Refused):
        return found
    if isinstance(error, SyntaxError):
        message = "%sline %s is not valid in Python %d.%d: %s"
        where = _file(files, str(error.filename))
        return dict(found, message=message % ((where, error.lineno) + sys.version_info[:2] + (error.msg,)))
    if isinstance(error, NotImplementedError) and frames and not files.is_own(frames[-1].filename):
        found["kind"] = "unsupported"
    message = (in_words(*own[-1]) + ": " if own else "") + found["message"]
    if package in NOT_TO_INSTALL:
        message += NOT_TO_INSTALL[package]
    elif isinstance(error, ModuleNotFoundError) and package and not is_there(package):
        message += _installs([package, *_absent(files, program)], program)
    elif isinstance(error, ImportError) and PIP.search(message):
        message += _installs([PIP.search(message).group(1)], program)
    elif isinstance(error, ImportError) and _absent_in(message):
        message += _installs(_absent_in(message), program)
    elif isinstance(error, EOFError) and str(error) == "EOF when reading a line":  # of input()
        message += "; it reads standard input: put the answers into a file, and add `< FILE`"
    elif not isinstance(error, OSError):
        helps = [advice for served, advice in program["may_help"] if re.search(served, message)]
        message += "".join("; " + one for one in helps)
    return dict(found, message=message)


def _absent_in(message: str) -> List[str]:
    """The packages that are not there and that Keras or another package says it lacks."""
    return [one for one in INSTALLED_AS if re.search(rf"\b{one}\b", message) and not is_there(one)]


def _installs(packages: List[str], program: Dict[str, Any]) -> str:
    """What installs these packages, beside those that were asked for."""
    names = list(dict.fromkeys(INSTALLED_AS.get(one, one) for one in packages))
    them = "it" if len(names) == 1 else "what it imports"
    sure = all(one in INSTALLED_AS or one in WELL_KNOWN for one in packages)
    unsure = "" if sure else "if that is a package, " if len(names) == 1 else "if these are packages, "
    return f"; {unsure}--with {','.join([*program['asked'], *names])} installs {them}"


def _absent(files: "Files", program: Dict[str, Any]) -> List[str]:
    """The packages that the program is yet to import and that are not there, so that they need be named only once."""
    names = []
    for node in files.statements():
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module)
    names = list(dict.fromkeys(name.partition(".")[0] for name in names))
    not_to_name = (*program["frameworks"], *NOT_TO_INSTALL)
    return [one for one in names if one not in not_to_name and not is_there(one)]


def _feeds(framework: str, used: str, program: Dict[str, Any]) -> str:
    """What installs a framework whose data Keras 3 takes on any backend, if that is what the program wants of it."""
    package, of_data = FEEDS.get(framework, ("", None))
    if not package or not is_there("keras", "src") or not of_data.search(used):
        return ""
    return f"; for its data alone, --with {','.join([*program['asked'], package])} installs it"


def _file(files: "Files", file: str) -> str:
    """A file's name and a comma; "" for the program itself."""
    named = files.where(file) if files.is_own(file) else os.sep.join(file.split(os.sep)[-2:])
    return named + ", " if named else ""  # of a package: with its folder
