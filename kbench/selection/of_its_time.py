"""Says which release of a framework was there when a release of Keras came out, if a variant pairs others."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.version import InvalidVersion, Version

from kbench.records.values import Backend, bare, base


def hint(backend: Backend, versions: Mapping[str, str]) -> str:
    """A sentence about Keras and the framework of this variant, {keras, backend}; empty if they are of one time."""
    try:
        keras, framework = (Version(versions[name]) for name in ("keras", "backend"))
        known = {Version(name): (Version(with_it), when) for name, (with_it, when) in backend.of_its_time.items()}
    except (KeyError, InvalidVersion):
        return ""
    minor = Version(f"{keras.major}.{keras.minor}")
    if not any(build.resolved for build in backend.builds) or minor not in known:
        return ""
    then, when = known[minor]
    older = max((name for name, (with_it, _) in known.items() if with_it <= framework), default=minor)
    name, package = bare(base(backend.name)) or base(backend.name), backend.distribution
    if framework > then and _minor(framework) != _minor(then):
        return (
            f"keras {minor} was released in {when}, before {package} {framework}: use `{name}@{then}+keras={minor}`"
        )
    if older < minor and _minor(framework) != _minor(then):
        return f"{package} {framework} was released before keras {keras}: use `{name}@{framework}+keras={older}`"
    return ""


def _minor(version: Version) -> tuple[int, ...]:
    return version.release[:2]
