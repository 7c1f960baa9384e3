"""What can be said of a call of fit and of its model, without changing them."""

import contextlib
import hashlib
import types

import numpy as np

from kbench_guest import arrays
from kbench_guest.proof import fingerprint

HASHED_BYTES = 1 << 24  # of each array, from the front


def model(framework, made):
    """{parameters, layers, dtypes, optimizer, loss} as far as it can be told; `notes` say what cannot."""
    found, notes = {}, []

    def tell(name, ask):
        try:
            found[name] = ask()
        except Exception as error:  # anybody's model: what cannot be described is measured all the same
            notes.append("its %s cannot be described (%s)" % (name, type(error).__name__))

    tell("parameters", lambda: int(made.count_params()))
    tell("layers", lambda: framework.describe(made))
    tell("dtypes", lambda: fingerprint.dtypes(framework, made))
    if getattr(made, "optimizer", None) is not None:
        tell("optimizer", lambda: fingerprint.compiled(framework, made, "", 0)["optimizer"])
        tell("loss", lambda: _name(made.loss))
    if isinstance(getattr(made, "jit_compile", None), bool):
        found["jit_compile"] = made.jit_compile
    found["weights"] = "its own"
    return dict(found, notes=notes) if notes else found


def training(given, hashed):
    """{batch_size, samples, content_sha256, ...} of the arguments of fit, as far as they are known.

    hashed: whether the content of arrays is.
    """
    found = {}
    x = given.get("x", given.get("generator"))
    if given.get("validation_split"):
        found["validation_split"] = float(given["validation_split"])
    if _arrays(x):
        size = given.get("batch_size") or 32
        found["batch_size"] = int(size)
        found["samples"] = rows(x)
        found["validation_samples"] = int(rows(x) * (given.get("validation_split") or 0.0))
        if hashed:
            with contextlib.suppress(Exception):  # arrays of objects
                found["content_sha256"] = _sha256(_arrays(x) + _arrays(given.get("y")))
    if isinstance(given.get("validation_data"), (list, tuple)):
        found["validation_samples"] = rows(given["validation_data"][0])
    if not _arrays(x):
        size = getattr(x, "batch_size", None)
        found.update({"batch_size": int(size)} if isinstance(size, int) else {})
        found["feeds"] = type(x).__name__
    return found


def cut(given, program):
    """Let an epoch have no more than the asked-for steps; they are the first ones."""
    most = program.get("max_steps")
    if not most:
        return
    x = given.get("x", given.get("generator"))
    if _arrays(x):
        rows_left = most * int(given.get("batch_size") or 32)
        for name in ("x", "y", "sample_weight"):
            if _arrays(given.get(name)) and rows(given[name]) > rows_left:
                given[name] = arrays.mapped(lambda one: one[:rows_left], given[name])
        return
    steps = given.get("steps_per_epoch")
    given["steps_per_epoch"] = min(steps, most) if steps else most


def count_samples(given, told):
    """Let a generator tell how many samples its first batch has, where that is not known."""
    for name in ("x", "generator"):
        one = given.get(name)
        if isinstance(one, types.GeneratorType) and "batch_size" not in told:
            given[name] = _counted(one, told)


def _counted(generator, told):
    for batch in generator:
        told.setdefault("batch_size", rows(batch[0] if isinstance(batch, tuple) else batch))
        yield batch


def samples(told, steps):
    """How many samples an epoch of so many steps has; 0 if nobody knows."""
    there, size = told.get("samples", 0), told.get("batch_size", 0)
    if there:
        trained = round(there * (1 - told.get("validation_split", 0.0)))
        return min(trained, steps * size or there)
    return steps * size


def rows(x):
    """How many samples these arrays have; 0 if nobody knows."""
    found = _arrays(x)
    return int(found[0].shape[0]) if found and found[0].ndim else 0


def _arrays(x):
    """The numpy arrays in x, which may be one, or a list or dict of them; [] if there is anything else."""
    if isinstance(x, np.ndarray):
        return [x]
    if isinstance(x, dict):
        x = [x[name] for name in sorted(x)]
    if isinstance(x, (list, tuple)) and x and all(isinstance(one, np.ndarray) for one in x):
        return list(x)
    return []


def _sha256(found):
    digest = hashlib.sha256()
    for one in found:
        digest.update(("%s %s\n" % (one.dtype.str, one.shape)).encode("ascii"))
        count = max(1, HASHED_BYTES // max(1, one.nbytes // max(1, len(one))))
        digest.update(np.ascontiguousarray(one[:count]).tobytes())
    return digest.hexdigest()


def _name(loss):
    """A loss as people write it."""
    if isinstance(loss, dict):
        return ", ".join("%s: %s" % (name, _name(loss[name])) for name in sorted(loss))
    if isinstance(loss, (list, tuple)):
        return ", ".join(_name(one) for one in loss)
    return loss if isinstance(loss, str) else getattr(loss, "__name__", type(loss).__name__)
