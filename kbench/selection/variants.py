"""Variants: a backend in another version or with another setting, such as `NAME@0.9` or `NAME+jit=off`.

Each has its own row in the tables, under this name.
"""

from __future__ import annotations

import colorsys
import functools
import re
import shlex
import zlib
from collections.abc import Mapping
from dataclasses import replace

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from kbench.base.masking import is_secret
from kbench.environments.packages import keras_among
from kbench.errors import UserError
from kbench.records import axes
from kbench.records.values import EXPORT, Backend, base
from kbench.selection import sources

JIT = ("on", "off", "auto")
DEFAULTS = ("", "jit=auto", "policy=float32", "settings=tuned")  # settings that change nothing
UNTUNED = "settings=default"
NIGHTLY = "nightly"
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?", re.ASCII)
_POLICY = re.compile(r"(mixed_)?(b?float16)|float(32|64)")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_VALUE = re.compile(r"[\w.:/=-]*")
_NOT_IN_NAMES = re.compile(r"[^\w.:=-]+")
_BEFORE_VALUE = re.compile(r"(?<!\S)(--[\w.-]+) (?!-)")  # the blank between an option and its value
_PACKAGE = re.compile(r"[a-z][a-z0-9_-]*")
_OURS = re.compile(r"(KERAS_|KBENCH_|PYTHON).*")


def parse_name(item: str, backend: Backend, of_group: bool = False) -> Backend:
    """The variant of `backend` that `item`, such as `NAME@0.9+jit=off`, asks for. Raises UserError.

    of_group: a backend that has no tuned settings is the same without them.
    """
    name, version, settings = axes.split_name(item)
    if not name:
        raise UserError(f"{item!r} is not a backend's name: write NAME, NAME@VERSION or NAME+SETTING=VALUE.")
    made = backend if version is None else _of_version(backend, backend.distribution, version, f"@{version}")
    given = [one for one in settings if not (of_group and one == UNTUNED and not backend.tuned)]
    made = functools.reduce(with_setting, given, made)
    if made is backend and item != name and not of_group:
        raise UserError(f"{item!r} does not say which version or setting: write NAME@0.9 or NAME+jit=off.")
    return made


def named_arguments(text: str) -> str:
    """A program's further arguments as a row's name has them: `--mixed mixed_float16` is `--mixed=mixed_float16`."""
    return _NOT_IN_NAMES.sub("_", _BEFORE_VALUE.sub(r"\1=", " ".join(shlex.split(text))))


def with_setting(backend: Backend, setting: str) -> Backend:
    """The backend with `NAME=VALUE`. Raises UserError."""
    name, is_given, value = setting.partition("=")
    suffix = f"+{setting}"
    if not backend.keras_backend and name in ("jit", "policy", "keras"):
        raise UserError(f"{backend.name} does not use Keras, so +{setting} does not apply: leave it out.")
    if backend.kind == EXPORT and name in ("jit", "policy"):
        raise UserError(f"{backend.name} runs the exported model, so +{setting} does not apply: leave it out.")
    if name == "jit" and value in JIT:
        return _renamed(backend, suffix, jit=value)
    if setting == UNTUNED:
        return _untuned(backend, suffix)
    if setting in DEFAULTS:
        return backend
    if name == axes.ARGUMENTS and value:
        return _renamed(backend, suffix, arguments=value)
    if name == "policy" and _POLICY.fullmatch(value):
        return _renamed(backend, suffix, policy=value)
    if _VARIABLE.fullmatch(name) and is_given and not _OURS.fullmatch(name):
        return _with_variable(backend, name, value, suffix)
    if _PACKAGE.fullmatch(name) and is_given and name not in ("jit", "policy", "settings", axes.ARGUMENTS):
        return _with_package(backend, name, value, suffix)
    raise UserError(
        f"{setting!r} is not a setting: use jit=on, jit=off, policy=mixed_float16 (or another dtype policy), "
        "settings=default, keras=VERSION, keras=FOLDER, or NAME=VALUE for an environment variable."
    )


def _with_variable(backend: Backend, name: str, value: str, suffix: str) -> Backend:
    if is_secret(name):
        raise UserError(
            f"{name} is a secret by its name, and the value would be part of the row's name: set it before, and "
            f"give it to the cells by --pass-env {name}."
        )
    if not _VALUE.fullmatch(value):
        raise UserError(f"{f'{name}={value}'!r}: the value may have only letters, digits and .:/=-_.")
    builds = tuple(
        replace(
            build,
            variables={**build.variables, name: value},
            locked_variables={**build.locked_variables, name: value},
        )
        for build in backend.builds
    )
    return _renamed(backend, suffix, builds=builds, variables={**backend.variables, name: value})


def _with_package(backend: Backend, name: str, value: str, suffix: str) -> Backend:
    if "/" not in value:
        return _of_version(backend, keras_of(backend) if name == "keras" else name, value, suffix)
    if not _VALUE.fullmatch(value):
        raise UserError(f"{value!r}: the path may have only letters, digits and .:/=-_.")
    return _renamed(backend, suffix, sources={**backend.sources, **sources.find(name, value)})


def _untuned(backend: Backend, suffix: str) -> Backend:
    """The backend without the variables that only make it faster. Raises UserError if it has none."""
    if not backend.tuned:
        raise UserError(f"kbench sets no variables that make {backend.name} faster: leave {suffix} out.")

    def without(variables: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in variables.items() if name not in backend.tuned}

    builds = tuple(
        replace(build, locked_variables=without(build.locked_variables))
        if build.locked_variables.keys() & {*backend.tuned}  # what stands without them is as it comes
        else replace(build, variables=without(build.variables))
        for build in backend.builds
    )
    return _renamed(backend, suffix, builds=builds, variables=without(backend.variables), tuned=())


def keras_of(backend: Backend) -> str:
    """The package of the backend's Keras, which may be a fork with another name."""
    return keras_among(backend.builds[0].requirements)


def _of_version(backend: Backend, package: str, version: str, suffix: str) -> Backend:
    """The backend with another version of a package; its lock file is made later."""
    if not version:
        raise UserError(f"{base(backend.name)}{suffix} lacks a version, such as 0.9, or a folder, such as ../keras.")
    if version != NIGHTLY and not _VERSION.fullmatch(version):
        raise UserError(f"{version[:50]!r} is neither a version, such as 0.9, nor a folder, such as ../keras.")
    if backend.releases and package == keras_of(backend):
        name = base(backend.name)
        raise UserError(f"The Keras of {name} has the version of its framework: write {name}@{version}.")
    if backend.releases and package == backend.distribution and version != NIGHTLY:
        backend = _of_release(backend, version)
    builds = []
    for build in backend.builds:
        of_build = build.distribution if package == backend.distribution else package
        pinned = tuple(_pinned(one, of_build, version) for one in build.requirements)
        if pinned:
            if of_build not in map(_package, build.requirements):
                pinned += (_pinned(of_build, of_build, version),)
            # Another version of the framework may not know the flags of the locked one.
            flags = {} if package == backend.distribution else build.locked_variables
            builds.append(replace(build, requirements=pinned, lock=None, locked_variables=flags, resolved=True))
    return _renamed(backend, suffix, builds=tuple(builds))


def _of_release(backend: Backend, version: str) -> Backend:
    """The backend with what this release of its framework needs besides itself. Raises UserError if it is too old."""
    wanted = Version(version)
    fitting = [one for one in backend.releases if Version(one.of) <= wanted]
    if not fitting:
        oldest = min((one.of for one in backend.releases), key=Version)
        raise UserError(f"kbench runs {base(backend.name)} from @{oldest} on, and {version} is older.")
    release = max(fitting, key=lambda one: Version(one.of))
    needs = [one.replace("{minor}", f"{wanted.major}.{wanted.minor}") for one in release.requirements]
    keras = keras_of(backend)
    builds = tuple(
        replace(build, requirements=(*needs, *(one for one in build.requirements if _package(one) != keras)))
        for build in backend.builds
    )
    return replace(backend, builds=builds, python=release.python or backend.python)


def _pinned(requirement: str, package: str, version: str) -> str:
    """The requirement, with this version if it is for this package; 0.9 means the newest 0.9.*."""
    found = Requirement(requirement)
    if canonicalize_name(found.name) != canonicalize_name(package):
        return requirement
    if version == NIGHTLY:
        return f"{found.name}-{NIGHTLY}"
    extras = f"[{','.join(sorted(found.extras))}]" if found.extras else ""
    newest = ".*" if version.count(".") < 2 and version.replace(".", "").isdecimal() else ""
    return f"{found.name}{extras}=={version}{newest}"


def _package(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


def _renamed(backend: Backend, suffix: str, **changes: object) -> Backend:
    name = backend.name + suffix
    made = replace(backend, **changes)  # type: ignore[arg-type]
    return replace(made, name=name, title=f"{backend.title} {suffix}", color=_shade(backend.color, suffix))


def _shade(color: str, suffix: str) -> str:
    """A shade of the backend's colour, so that plots distinguish its variants."""
    red, green, blue = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    number = zlib.crc32(suffix.encode())
    hue += 0.04 * (number % 5 - 2)
    lightness = min(0.8, max(0.2, lightness + (0.12, 0.22, -0.12, -0.2)[number // 5 % 4]))
    return "#" + "".join(f"{round(255 * part):02X}" for part in colorsys.hls_to_rgb(hue % 1, lightness, saturation))
