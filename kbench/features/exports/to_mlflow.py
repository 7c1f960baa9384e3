"""MLflow: an experiment for the run and an MLflow run for each process, by MLflow's own client."""

from __future__ import annotations

import os
from pathlib import Path

from mlflow.tracking import MlflowClient

from kbench.analysis.rows import Analysis
from kbench.analysis.times.processes import Process
from kbench.errors import UserError
from kbench.records.values import OK, Measured

_METRICS = ("seconds", "samples", "loss", "accuracy", "val_loss", "val_accuracy")
_OF_CELL = ("repeat", "profile", "validation_samples", "epochs", "seed", "timing")
_FACTS = ("keras_version", "backend_version", "parameters")


def write(run: Analysis, out: Path) -> list[str]:
    """Log every cell to `MLFLOW_TRACKING_URI`, or to a database below `out`; returns where. Raises UserError."""
    uri = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{(out / 'mlflow.db').absolute()}"
    name = f"kbench {run.run.name}"
    try:
        client = MlflowClient(tracking_uri=uri)
        if client.get_experiment_by_name(name) is not None:
            raise UserError(f"{uri} already has an experiment {name!r}: delete it there, or choose another --out.")
        experiment = client.create_experiment(name)
        for one in (*run.run.measured, *run.run.short):
            _log(client, experiment, one, run.processes.get(one.cell.id))
    except UserError:
        raise
    except Exception as error:  # a server can fail in many ways
        reason = (str(error).splitlines() or [repr(error)])[0].rstrip(".")
        raise UserError(f"MLflow at {uri} refuses: {reason}.") from error
    return [f"{uri} (experiment {name!r})"]


def _log(client: MlflowClient, experiment: str, one: Measured, time: Process | None) -> None:
    logged = client.create_run(experiment, run_name=one.cell.id).info.run_id
    facts = {name: value for name in _FACTS if (value := getattr(one.facts, name)) not in (None, "")}
    of_cell = {name: value for name, value in one.cell.values.items() if value != ""}
    others = {name: getattr(one.cell, name) for name in _OF_CELL}
    for name, value in {**of_cell, **others, **facts}.items():
        client.log_param(logged, name, value)
    for epoch in one.epochs:
        for name in _METRICS:
            value = getattr(epoch, name)
            if value is not None:
                client.log_metric(logged, f"epoch_{name}", value, step=epoch.epoch)
    for phase, seconds in one.phases.items():
        client.log_metric(logged, f"{phase}_seconds", seconds)
    for name, figure in (("steady_seconds", time.seconds), ("steady_error", time.error)) if time else ():
        if figure is not None:
            client.log_metric(logged, name, figure)
    client.set_tag(logged, "status", one.outcome.status)
    client.set_tag(logged, "compilation_cached", str(one.outcome.compilation_cached))
    if one.outcome.reason:
        client.set_tag(logged, "reason", one.outcome.reason)
    client.set_terminated(logged, "FINISHED" if one.outcome.status == OK else "FAILED")
