"""`doctor`: checks this machine for everything that a run needs; each line is ok, or says what to type."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

from kbench import __version__, hooks
from kbench.base import disk_usage, paths
from kbench.cache import folder as cache_folder
from kbench.cli import arguments
from kbench.commands import choices, doctor_data
from kbench.commands.finding import DoctorFinding
from kbench.environments import ensure, folders, interpreters
from kbench.environments.interpreters import Choice
from kbench.errors import Unavailable, Unsupported, UserError
from kbench.machine import devices
from kbench.machine.host import visible_cores
from kbench.records.values import Backend, Build, Device
from kbench.screen import terminal
from kbench.selection.builds import pick_build
from kbench.selection.known import known_backends, known_examples
from kbench.words.text import listed, plain, size

TO_DO = "to do"
# The largest environment for a CPU takes 1.4 GiB, and as much again in uv's cache; CUDA's libraries 4 GiB more.
GIB = 1 << 30
FOR_AN_ENVIRONMENT = {"cpu": 2 * GIB, "gpu": 8 * GIB}
FOR_DATA = 2 * GIB
FOR_RESULTS = GIB // 10


def main(options: argparse.Namespace) -> int:
    """Check everything and print it; 1 if there is something to do. Raises UserError."""
    known = known_backends()
    pythons = choices.chosen_pythons(vars(options), known)
    gpus = devices.gpus()
    device = devices.choose(options.device, gpus)
    mirror = choices.data_folder()
    if mirror is not None and not mirror.is_dir():
        raise UserError(f"{mirror} is not a folder: give KBENCH_DATA one that exists")
    cache = paths.cache_folder()
    setup = f"{arguments.program()} setup --backends"
    backends = [_backend(one, device, pythons.get(one.name), cache, setup) for one in known.values()]
    to_make = sum(makes for _, makes in backends)
    here = Path.cwd()
    data = doctor_data.data([one for one in known_examples().values() if one.core], mirror)
    of_backend = {finding.what: finding for finding, _ in backends}
    parts = {
        "Machine": [
            *_machine(cache, here, to_make, device),
            *_compilers(known.values()),
            *_gpus(gpus),
        ],
        f"Backends, on {device.label}": [finding for finding, _ in backends],
        f"Data, of profile {doctor_data.PROFILE}": data,
        "Tools": doctor_data.tools(),
    }
    count = sum(bool(finding.advice) for findings in parts.values() for finding in findings)
    parts["The README's commands"] = doctor_data.commands(known, of_backend, data)
    print("\n\n".join(f"{title}\n{_lines(findings)}" for title, findings in parts.items() if findings))
    without = sum(finding.synthetic for finding in data)
    fine = f"All works; {without} of {len(data)} examples have no real data." if without else "All is fine."
    print(f"\n{f'{count} to do: see the lines marked so.' if count else fine}")
    return 1 if count else 0


def _lines(findings: Sequence[DoctorFinding]) -> str:
    width = max(len(finding.what) for finding in findings)
    return "\n".join(_line(finding, width) for finding in findings)


def _line(finding: DoctorFinding, width: int) -> str:
    text = plain(f"{finding.found}: {finding.advice}" if finding.advice else finding.found)
    state = TO_DO if finding.advice else "none" if finding.hinders else "ok"
    head = f"  {state:<{len(TO_DO)}}  {finding.what:<{width}}  "
    # Not at hyphens or within words: commands must stay whole.
    return textwrap.fill(
        text,
        terminal.width(),
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _machine(cache: Path, results: Path, to_make: int, device: Device) -> list[DoctorFinding]:
    """kbench, its cache folder, and the disks of cache and results."""
    system = f"{platform.system()} on {platform.machine()}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    there = {kind: cache_folder.made(cache, kind) for kind in cache_folder.MADE}
    for_cache = to_make * FOR_AN_ENVIRONMENT[device.kind] + FOR_DATA * (not there["data"])
    sizes = [f"{kind} {size(disk_usage.size(found)[0])}" for kind, found in there.items() if found]
    return [
        DoctorFinding("kbench", f"{__version__} on {python}, {visible_cores():g} cores, {system}"),
        DoctorFinding("cache", f"{cache}: {', '.join(sizes) or 'nothing in it yet'}", _writable(cache)),
        _disk("disk, cache", cache, for_cache, "`clean` frees some, KBENCH_CACHE names another disk"),
        _disk("disk, results", results, FOR_RESULTS, "choose another place with --results"),
    ]


def _compilers(backends: Iterable[Backend]) -> list[DoctorFinding]:
    """The programs that backends need, each once."""
    needing: dict[str, list[str]] = {}
    for backend in backends:
        for program in ensure.programs(backend):
            needing.setdefault(program, []).append(backend.name)
    return [_program(program, names) for program, names in needing.items()]


def _gpus(found: Sequence[Device]) -> list[DoctorFinding]:
    """The GPUs that NVIDIA's driver reports."""
    if not found:
        return [DoctorFinding("GPU", "none that NVIDIA's driver reports: cells run on the CPU")]
    return [
        DoctorFinding(
            one.label, f"{one.name}, {one.memory_mib or 0:,} MiB, driver {one.driver}, sm {one.compute_capability}"
        )
        for one in found
    ]


def _backend(
    one: Backend, device: Device, choice: Choice | None, cache: Path, setup: str
) -> tuple[DoctorFinding, bool]:
    """(a backend's build, Python and environment, whether its environment is missing)."""
    try:
        build = pick_build(one, device, as_is=choice is not None and choice.as_is)
    except Unsupported as error:
        return DoctorFinding(one.name, f"unsupported here: {error}", hinders=True), False
    except Unavailable as error:
        return DoctorFinding(one.name, f"unavailable: {error}", hinders=True), False
    try:
        ensure.check_programs(one)
        if choice is not None and choice.as_is:
            environment = ensure.ensure(one, build, explicit=choice, cache=cache)
            return DoctorFinding(
                one.name, f"{build.name}, your own environment, {environment.python}, as it is"
            ), False
        return _environment(one, build, choice, cache, setup)
    except (Unavailable, UserError) as error:
        return DoctorFinding(one.name, build.name, str(error)), False


def _environment(
    one: Backend, build: Build, choice: Choice | None, cache: Path, setup: str
) -> tuple[DoctorFinding, bool]:
    made = ensure.find(one, build, explicit=choice, cache=cache)
    if made is not None and made.folder is not None:
        started = interpreters.probe(made.python)
        changed = hooks.changed_files(made.folder)
        if started is None or changed:
            broken = (
                f"{listed(changed[:3])} changed after the installation" if started else "its Python does not start"
            )
            return DoctorFinding(one.name, f"{build.name}, {broken}", f"rm -r {shlex.quote(str(made.folder))}"), True
        on_disk = size(disk_usage.size([made.folder])[0])
        return DoctorFinding(one.name, f"{build.name}, Python {started.version}, environment of {on_disk}"), False
    ensure.check_platform(one, build)
    python = interpreters.at_hand(one, cache, choice.path if choice else None)
    if folders.path_of(one, build, python.minor, choice, cache).exists():
        return DoctorFinding(one.name, f"{build.name}, its environment is broken", f"{setup} {one.name}"), True
    about = f"{build.name}, Python {python.version} at {python.path}: the first run makes its environment"
    return DoctorFinding(one.name, about), True


def _program(program: str, needing: Sequence[str]) -> DoctorFinding:
    who = f"needed by {', '.join(needing)}"
    path = ensure.find_program(program)
    if path is not None:
        return DoctorFinding(program, f"{path}, {who}")
    package = "gcc" if program == "cc" else program
    return DoctorFinding(
        program, f"not on PATH, {who}", f"install it, on Debian and Ubuntu with `sudo apt install {package}`"
    )


def _writable(cache: Path) -> str:
    existing = next(folder for folder in (cache, *cache.parents) if folder.exists())
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return ""
    return "it cannot be written: name another folder with KBENCH_CACHE"


def _disk(what: str, folder: Path, wanted: int, advice: str) -> DoctorFinding:
    existing = next(one for one in (folder, *folder.parents) if one.is_dir())
    try:
        free = shutil.disk_usage(existing).free
    except OSError as error:
        return DoctorFinding(what, str(existing), f"it cannot be read: {error.strerror}")
    found = f"{size(free)} free in {existing}"
    return DoctorFinding(what, found, f"about {size(wanted)} are needed there: {advice}" if free < wanted else "")
