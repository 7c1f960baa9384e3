"""What the process of a program is told: the program's part of its spec, as kbench_script.driver reads it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kbench import hooks
from kbench.base.paths import portable
from kbench.cells.spec import RunPaths, imported, keras_files
from kbench.datasets import as_keras
from kbench.features.script import added_packages, declared
from kbench.features.script.notebooks import names_of
from kbench.features.script.workdir import Place
from kbench.planning.tasks import CellTask
from kbench.records.values import base

ARGUMENTS = "KBENCH_ARGUMENTS"  # for those that have secrets, which the spec does not have


def secret_arguments(task: CellTask, run_paths: RunPaths) -> dict[str, str]:
    """The variable with a program's true arguments; empty if its spec has them."""
    of_task = task.script or {}
    true = (*run_paths.arguments, *of_task.get("added", ()))
    return {} if tuple(of_task.get("arguments", ())) == true else {ARGUMENTS: json.dumps(list(true))}


def told(task: CellTask, run_paths: RunPaths, place: Place) -> dict[str, Any]:
    """The program's options, path, packages, and the files that Keras's get_file finds."""
    environment, of_task = run_paths.environments[task.environment], task.script or {}
    assert not isinstance(environment, str)
    return {
        **of_task,
        "file": portable(place.file),
        "folder": portable(place.root),
        "cells": list(run_paths.cells),
        "names": sorted(names_of(base(task.backend), task.keras_backend)),
        "pythons": declared.minors(of_task.get("requires_python", "")),
        "asked": list(of_task.get("packages", ())),
        "downloads": portable(as_keras.folder()),
        "packages": added_packages.versions(environment),
        "packages_folder": portable(environment.packages) if environment.packages else "",
        "frameworks": sorted(run_paths.frameworks),
        "files": keras_files(run_paths),
        **_of_features(of_task.get("parts", ())),
    }


def _of_features(asked: Sequence[str]) -> dict[str, Any]:
    """What features do in the program's process, and which errors others may help."""
    every = hooks.program_parts({})
    return {
        "parts": [imported(one.driver, one.feature) for one in every if one.feature in asked],
        "may_help": [[one.served, one.advice] for one in every if one.served and one.feature not in asked],
    }
