"""A figure from the literature, and a run's own figure beside it."""

from __future__ import annotations

from dataclasses import dataclass

from kbench.values import Summary


@dataclass(frozen=True)
class Figure:
    """What a source gives; counts are None where it does not say."""

    source: str  # a key of results/published/README.md
    year: int
    workload: str  # an example's name, where kbench has it
    framework: str
    backend: str  # full name, where the framework is Keras on that backend; else empty
    hardware: str
    cudnn_rnn: str  # "yes", "no" or ""
    gpus: int | None
    threads: int | None
    batch_size: int | None
    epochs: int | None
    metric: str
    value: float
    unit: str
    note: str

    @property
    def seconds(self) -> float | None:
        """Seconds per epoch of all samples, or per 1,000 images of inference; None where it is another measure."""
        if self.unit != "s":
            return None
        if self.metric == "training_time":
            return self.value / self.epochs if self.epochs else None
        return self.value if self.metric in ("epoch_time", "time_per_1000_images") else None


@dataclass(frozen=True)
class Held:
    """A row of a run against a figure of the same workload."""

    row: Summary
    seconds: float  # of the row, in the figure's measure: an epoch of all samples, or 1,000 of inference
    figure: Figure
    published: float  # seconds
    same_backend: bool  # whether the figure is of Keras on this row's backend, in whichever generation
    differs: tuple[str, ...]  # beside the hardware

    @property
    def ratio(self) -> float:
        """How many times the published time the row takes."""
        return self.seconds / self.published
