"""Reads backends/<generation>/<name>.toml: the one place that knows what a backend's file may say."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from kbench.errors import UserError
from kbench.values import CHANNELS_FIRST, CHANNELS_LAST, QUANTITIES, Backend, Build, Explanation

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TASKS = ("train", "infer")
LAYOUTS = (CHANNELS_FIRST, CHANNELS_LAST)
EXPLANATION_KEYS = {"what", "bound", "reason", "layer", "optimizer", "unlike"}
PLACEHOLDERS = ("env", "cache", "threads", "threads_from_2", "python_lib", "inherited")

# One check per key: the value as the dataclass wants it, or ValueError with what was expected.
Check = Callable[[Any], Any]


def load_all(folder: Path) -> dict[str, Backend]:
    """Every backend under `folder`, by name: "keras2/..." first, each generation in alphabetical order.

    Raises UserError for the first file that is wrong.
    """
    found = sorted(folder.glob("*/*.toml"), key=lambda path: (by_number(path.parent.name), path.stem))
    backends = [load(path) for path in found]
    if not backends:
        raise UserError(f"no backend's file was found under {folder}")
    return {backend.name: backend for backend in backends}


def by_number(generation: str) -> list[str | int]:
    """A key that sorts generations by their number: keras2, keras3, keras10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", generation)]


def load(path: Path) -> Backend:
    """The backend that the file describes. Raises UserError, which names the file and the key."""
    path = path.absolute()
    name = f"{path.parent.name}/{path.stem}"
    where = f"{path.parent.name}/{path.name}"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"the backend's file {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"the backend's file {where} is not valid TOML: {error}") from None
    raw_builds = raw.pop("builds", None)
    values = _checked(raw, BACKEND_KEYS, BACKEND_DEFAULTS, where)
    if not isinstance(raw_builds, list) or not raw_builds:
        raise UserError(f"the backend's file {where} needs at least one [[builds]] table")
    builds = tuple(
        _build(item, path, values["distribution"], f"{where}, build {number}")
        for number, item in enumerate(raw_builds, start=1)
    )
    names = [build.name for build in builds]
    if len(set(names)) < len(names):
        raise UserError(f"the backend's file {where} has two builds of one name: {', '.join(names)}")
    if values["can"] != frozenset(TASKS) and not values["cannot"]:
        raise UserError(f"the backend's file {where} must say in `cannot` why it cannot do all of {list(TASKS)}")
    values["compiled"] = {
        library: _beside(path, source, "compiled", where) for library, source in values["compiled"].items()
    }
    return Backend(name=name, generation=path.parent.name, builds=builds, path=path, **values)


def _build(raw: object, path: Path, distribution: str, where: str) -> Build:
    if not isinstance(raw, dict):
        raise UserError(f"the backend's file {where} must be a [[builds]] table")
    values = _checked(raw, BUILD_KEYS, BUILD_DEFAULTS, where)
    values["distribution"] = values["distribution"] or distribution
    lock = None
    if values["requirements"]:
        lock = _beside(path, f"{path.stem}.{values['name']}.lock", "requirements", where)
    return Build(lock=lock, **values)


def _checked(raw: Mapping[str, object], keys: Mapping[str, Check], defaults: Mapping[str, object], where: str) -> Any:
    for key in raw:
        if key not in keys:
            near = difflib.get_close_matches(key, keys, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"the keys are {', '.join(keys)}"
            raise UserError(f"the backend's file {where} has an unknown key `{key}`: {hint}")
    values: dict[str, object] = {}
    for key, check in keys.items():
        if key in raw:
            try:
                values[key] = check(raw[key])
            except ValueError as expected:
                raise UserError(
                    f"the backend's file {where} has `{key}` = {raw[key]!r}: it must be {expected}"
                ) from None
        elif key in defaults:
            values[key] = defaults[key]
        else:
            raise UserError(f"the backend's file {where} lacks the key `{key}`")
    return values


def _beside(path: Path, name: str, key: str, where: str) -> Path:
    wanted = path.with_name(name)
    if not wanted.is_file():
        raise UserError(f"the backend's file {where} needs {name} beside it (for `{key}`), which is not there")
    return wanted


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip() or "\n" in value:
        raise ValueError("a text of one line")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError("a list of texts")
    return tuple(_text(item) for item in value)


def _table(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError("a table of texts")
    return {key: _text(item) for key, item in value.items()}


def _variables(value: object) -> dict[str, str]:
    table = _table(value)
    for text in table.values():
        for placeholder in re.findall(r"\{(.*?)\}", text):
            if placeholder not in PLACEHOLDERS:
                known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
                raise ValueError(f"a table of texts with no other placeholders than {known}")
    return table


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _pythons(value: object) -> tuple[str, ...]:
    versions = _texts(value)
    if not versions or not all(re.fullmatch(r"3\.\d+", version) for version in versions):
        raise ValueError('a list of Python versions such as ["3.11"]')
    return versions


def _tasks(value: object) -> frozenset[str]:
    tasks = _texts(value)
    if not tasks or not set(tasks) <= set(TASKS):
        raise ValueError(f"a list of {' and '.join(TASKS)}")
    return frozenset(tasks)


def _layout(value: object) -> str:
    if value not in LAYOUTS:
        raise ValueError(" or ".join(LAYOUTS))
    return str(value)


def _color(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"#[0-9a-fA-F]{6}", value):
        raise ValueError('a colour such as "#0072B2"')
    return value


def _forms(value: object) -> dict[str, str]:
    forms = _table(value)
    if not set(forms.values()) <= {"unrolled", "hidden state last"}:
        raise ValueError('a table of layer classes, each "unrolled" or "hidden state last"')
    return forms


def _explanations(value: object) -> tuple[Explanation, ...]:
    if not isinstance(value, list):
        raise ValueError("[[explained]] tables")
    return tuple(_explanation(item) for item in value)


def _explanation(item: object) -> Explanation:
    wanted = "tables with `what`, `bound`, `reason` and, it may be, `layer`, `optimizer` and `unlike`"
    if not isinstance(item, dict) or not {"what", "bound", "reason"} <= set(item) <= EXPLANATION_KEYS:
        raise ValueError(wanted)
    what, bound = _texts(item["what"]), item["bound"]
    if not what or not set(what) <= set(QUANTITIES):
        raise ValueError(f"{wanted}; `what` lists some of {', '.join(QUANTITIES)}")
    if not isinstance(bound, (int, float)) or isinstance(bound, bool) or not 0 < bound < float("inf"):
        raise ValueError(f"{wanted}; `bound` is a number above 0")
    only = {key: _text(item[key]) for key in ("layer", "optimizer") if key in item}
    return Explanation(what, float(bound), _text(item["reason"]), unlike=_texts(item.get("unlike", [])), **only)


def _device(value: object) -> str:
    if value not in ("cpu", "gpu"):
        raise ValueError("cpu or gpu")
    return str(value)


def _build_name(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[a-z0-9][a-z0-9_-]*", value):
        raise ValueError("a name of small letters and digits, such as cu112")
    return value


def _requirements(value: object) -> tuple[str, ...]:
    texts = _texts(value)
    try:
        for text in texts:
            Requirement(text)
    except InvalidRequirement:
        raise ValueError('a list of requirements such as ["keras==3.15.1"]') from None
    return texts


def _capabilities(value: object) -> tuple[float, float]:
    if (
        not isinstance(value, list)
        or len(value) != 2
        or not all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in value)
        or value[0] > value[1]
    ):
        raise ValueError("the lowest and the highest compute capability, such as [3.5, 7.5]")
    return float(value[0]), float(value[1])


def _driver(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"\d+(\.\d+)*", value):
        raise ValueError('a driver version such as "410.48"')
    return value


BACKEND_KEYS: Mapping[str, Check] = {
    "title": _text,
    "keras_backend": _text,
    "distribution": _text,
    "python": _pythons,
    "can": _tasks,
    "cannot": _text,
    "image_data_format": _layout,
    "gpu_image_data_format": _layout,
    "shared_libpython": _flag,
    "libraries": _table,
    "compiled": _table,
    "programs": _texts,
    "recurrent": _forms,
    "fixed_batch": _texts,
    "ordered_updates": _flag,
    "notes": _texts,
    "color": _color,
    "variables": _variables,
    "explained": _explanations,
}
BACKEND_DEFAULTS: Mapping[str, object] = {
    "cannot": "",
    "shared_libpython": False,
    "libraries": {},
    "compiled": {},
    "programs": (),
    "recurrent": {},
    "fixed_batch": (),
    "ordered_updates": False,
    "notes": (),
    "variables": {},
    "explained": (),
}
BUILD_KEYS: Mapping[str, Check] = {
    "name": _build_name,
    "device": _device,
    "distribution": _text,
    "requirements": _requirements,
    "compute_capability": _capabilities,
    "driver": _driver,
    "indexes": _texts,
    "variables": _variables,
    "locked_variables": _variables,
    "note": _text,
}
BUILD_DEFAULTS: Mapping[str, object] = {
    "distribution": "",
    "compute_capability": None,
    "driver": "",
    "indexes": (),
    "variables": {},
    "locked_variables": {},
    "note": "",
}
