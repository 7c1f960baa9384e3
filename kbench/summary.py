"""Defines Summary, a row of a table: what an example's repeats on a backend come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, Literal

from kbench import hooks
from kbench.records import axes, workloads
from kbench.records.axes import Point, RowKey
from kbench.records.findings import FeatureKind, Finding, Kind
from kbench.records.values import BesideBest, Interval
from kbench.records.workloads import Workload
from kbench.words import sentences

# What a row is compared with.
TO_FASTEST, TO_BASELINE, TO_DEFAULT = "fastest", "baseline", "default"
TO_RUN = "run"  # the same row of another run


@dataclass(frozen=True)
class Ratio:
    """The steady time of a row over that of a reference row: the same point but for some axes."""

    kind: str  # TO_FASTEST, TO_BASELINE, TO_DEFAULT, TO_RUN or that of a feature's Comparison
    reference: str  # backend of the other row
    value: float
    interval: Interval | None = None
    verdict: str = ""  # FASTEST and BASELINE for the reference itself
    processes: int | None = None  # the repeats that both rows have in common
    within: Interval | None = None  # if that is one: what other processes would show is not in it
    # Of the logarithm of the row's own time, not of the ratio, see kbench/analysis/times/levels.py; empty if unknown.
    quantiles: tuple[float, ...] = ()
    rough: bool = False  # from turns most of which other programs disturbed: its value is not told


@dataclass(frozen=True)
class Figure:
    """How a field of Summary is found, and how it is shown."""

    column: str | None = None  # in summary.csv; None: by the field's name, empty: not there
    shape: Literal["value", "ends", "phases", "texts", "json"] = "value"
    of_task: str = ""  # the only task that has it
    title: str = ""  # of its column in tables, by which the user may name it
    unit: str = ""  # in brackets behind the title: s, ms or MiB
    also: tuple[str, ...] = ()  # other headings of that column
    # Behind what the tables of examples have it where a row does; empty: not without a line of their own code.
    shown: Literal["", "comparison", "speed", "memory"] = ""
    digits: int = 3  # of its numbers there
    left_out: int = 0  # by a narrow page, those with small numbers first; 0: never
    # What of a process reports it; empty: it is computed (kbench/analysis/row_figures.py).
    of: Literal["", "cell", "facts", "outcome", "last epoch", "steady epochs"] = ""
    reported: str = ""  # by which name there, if another
    aggregate: Literal["first", "mean", "median"] = "first"  # over the processes, or their epochs
    cold: bool = False  # only over those that compiled their code

    @property
    def headings(self) -> tuple[str, ...]:
        """Of its column in tables."""
        heading = f"{self.title} ({self.unit})" if self.unit else self.title
        return (heading, *self.also) if heading else ()


def figure(*column: Any, **about: Any) -> dict[str, Figure]:
    """What a field of Summary says of itself."""
    return {"figure": Figure(*column, **about)}


HIDDEN = figure("")


@dataclass(frozen=True)
class Summary:
    """A row of an example's table. Its fields are summary.csv's columns: programs read the first 19 by position."""

    example: str = field(metadata=figure(of="cell"))
    backend: str = field(metadata=figure(of="cell"))
    image_data_format: str = field(metadata=figure(title="channels", of="cell"))
    device: str = field(metadata=figure(title="device", of="cell"))
    profile: str = field(metadata=figure(of="cell"))
    status: str
    reason: str
    repeats: int  # how many of them ended ok
    # of a usual process, from undisturbed turns
    epoch_seconds: float | None = field(metadata=figure(title="s/epoch", also=("s/call", "s/step", "seconds")))
    first_epoch_seconds: float | None = field(
        metadata=figure(
            title="first epoch", unit="s", also=("first call (s)", "first step (s)", "cold pass (s)"), left_out=5
        )
    )
    # of the steady epochs
    samples_per_second: float | None = field(metadata=figure(title="samples/s", also=("images/s",), left_out=4))
    # this and other ratios: see `ratios`
    relative_to_fastest: float | None = field(init=False, metadata=figure(title="times slower"))
    final_loss: float | None = field(
        metadata=figure(title="loss", of="last epoch", reported="loss", aggregate="mean")
    )
    final_accuracy: float | None = field(
        metadata=figure(title="accuracy", of="last epoch", reported="accuracy", aggregate="mean")
    )
    final_val_loss: float | None = field(
        metadata=figure(title="val. loss", of="last epoch", reported="val_loss", aggregate="mean")
    )
    final_val_accuracy: float | None = field(
        metadata=figure(title="val. accuracy", of="last epoch", reported="val_accuracy", aggregate="mean")
    )
    parameters: int | None = field(metadata=figure(of="facts"))
    keras_version: str = field(metadata=figure(of="facts"))
    backend_version: str = field(metadata=figure(of="facts"))
    # The position of the columns up to here never changes.
    task: str = "train"
    # the form of the recurrent layers; empty if there are none
    form: str = field(default="", metadata=figure(title="recurrent", left_out=1, of="facts"))
    # seconds, medians over the repeats
    phases: Mapping[str, float] = field(default_factory=dict, metadata=figure("phases", "phases"))
    # of one evaluation: median over epochs and repeats
    evaluation_seconds: float | None = field(default=None, metadata=figure(title="validation", unit="s"))
    # of the steady epochs
    seconds_per_1000_samples: float | None = field(
        default=None,
        metadata=figure(
            "seconds_per_1000_images", of_task="infer", title="s/1,000 samples", also=("s/1,000 images",)
        ),
    )
    batch_size: int = field(default=0, metadata=figure(of="cell"))
    samples: int = field(default=0, metadata=figure(of="cell"))  # in an epoch, as asked for
    validation_samples: int = field(default=0, metadata=figure(of="cell"))
    epochs: int = field(default=0, metadata=figure(of="cell"))  # as asked for
    data: str = field(default="", metadata=figure(of="facts"))  # the dataset's name
    data_source: str = field(default="", metadata=figure(title="data source", of="facts"))  # "real" or "synthetic"
    data_sha256: str = field(default="", metadata=figure(of="facts"))
    notes: tuple[str, ...] = field(init=False, metadata=figure("notes", "texts"))  # what else is found, in words
    # of epoch_seconds
    epoch_interval: Interval | None = field(default=None, metadata=figure("epoch_seconds", "ends"))
    # of relative_to_fastest
    relative_interval: Interval | None = field(init=False, metadata=figure("relative", "ends"))
    verdict: str = ""  # FASTEST, BASELINE, FASTER, SLOWER, NO_DIFFERENCE, NOT_COMPARED; empty without a ratio
    baseline: str = ""  # the backend that the user named as the baseline
    relative_to_baseline: float | None = field(init=False, metadata=figure(title="x baseline"))
    baseline_interval: Interval | None = field(init=False, metadata=figure("relative_to_baseline", "ends"))
    resampled: str = ""  # REPEATS or EPOCHS, the source of epoch_interval; empty if there is none
    resampled_values: int | None = None  # how many of them
    final_accuracy_sd: float | None = None  # over the repeats that ended ok: sample standard deviation
    final_val_accuracy_sd: float | None = None
    target: str = ""  # the example's own: "val_accuracy >= 0.99"
    epochs_to_target: float | None = None  # until it is first reached: median over repeats
    seconds_to_target: float | None = None  # of training, the first epoch included
    repeats_to_target: int | None = None  # how many reached it; None without a target
    deterministic: bool | None = None  # whether repeats with the same seed gave the same losses; None without repeats
    # peak of the guest's process: median over the repeats
    peak_memory_mib: float | None = field(
        default=None, metadata=figure(title="memory", unit="MiB", of="facts", aggregate="median", cold=True)
    )
    # the same after the import of the framework
    import_memory_mib: float | None = field(default=None, metadata=figure(of="facts", aggregate="median"))
    # peak with its child processes, such as compilers
    tree_memory_mib: float | None = field(default=None, metadata=figure(of="outcome", aggregate="median", cold=True))
    # where the initial weights are from: "seeded", "backend" or "published"
    weights: str = field(default="", metadata=figure(of="facts"))
    fingerprint: str = ""  # a short hash of everything that must be equal to compare rows
    # how this row differs from the others, in words; it then has no ratio
    differs: tuple[str, ...] = field(init=False, metadata=figure("differs", "texts"))
    step_seconds_median: float | None = None  # of all steps of the steady epochs
    step_seconds_p95: float | None = None
    # of the first step, minus a steady one: median over the repeats
    compile_seconds: float | None = field(default=None, metadata=figure(title="compile", unit="s"))
    # peak on the GPU: median over the repeats
    device_memory_mib: float | None = field(default=None, metadata=figure(of="outcome", aggregate="median"))
    device_memory_source: str = ""  # "process", "device", or both
    # peak of the framework's own allocator on the GPU
    allocator_peak_mib: float | None = field(default=None, metadata=figure(of="facts", aggregate="median"))
    # from the last batch until fit or predict returned: mean of steady epochs
    teardown_seconds: float | None = field(default=None, metadata=figure(of="steady epochs", aggregate="mean"))
    # 95 % of its processes take at most so many times as long as the usual one, or as short; as the ratios assume
    between_process_factor: float | None = None
    # of its times, where work is observed
    unit: str = field(default="", metadata=figure(of="facts"))
    metrics: Mapping[str, float] = field(default_factory=dict, metadata=figure("final_metrics", "json"))  # by name
    # a variant's ratio to its backend without settings
    relative_to_default: float | None = field(init=False, metadata=figure(title="x default", left_out=6))
    default_interval: Interval | None = field(init=False, metadata=figure("relative_to_default", "ends"))
    turns: int = 0  # of its processes with those of other rows; 0 if they did not take turns
    disturbed_turns: int = 0  # those during which other programs used the processor: left out
    # of the cores' time while its processes ran, what other programs used
    others: float | None = field(default=None, metadata=figure("", of="outcome", aggregate="median"))
    relative_processes: int | None = field(init=False)  # the repeats that this row and the fastest have in common
    # of relative_to_fastest, if that is from one process: what others would show is not in it
    process_interval: Interval | None = field(init=False, metadata=figure("relative_in_process", "ends"))
    # Of a script's line.
    calls: int | None = field(default=None, metadata=figure(of="facts"))
    # of a new model, or of one compiled anew
    first_calls: int | None = field(default=None, metadata=figure(of="facts"))
    # of all calls, each from its start to its return: its part of the program
    total_seconds: float | None = field(default=None, metadata=figure(title="total", unit="s"))
    # of a call of fit, outside its epochs and their validation: mean
    around_seconds: float | None = field(
        default=None, metadata=figure(title="around", unit="s", of="facts", aggregate="median")
    )
    # of all epochs of a fit but those that compile: median
    steady_epoch_seconds: float | None = field(default=None, metadata=figure(of="facts", aggregate="median"))
    threads: int | None = None  # of each of its processes
    # what computed its recurrent layers: fused, scan, loop or unrolled; empty if unknown
    recurrent_kernel: str = field(default="", metadata=figure(title="kernel", left_out=2))
    # more with each epoch, pass or call, where it grows all along: median over the repeats
    memory_growth_mib: float | None = None  # 0: it does not grow
    # that a model wrote, in the steady passes
    tokens_per_second: float | None = field(default=None, metadata=figure(title="tokens/s", shown="speed"))
    # from a batch of texts to the first token behind each: median
    first_token_seconds: float | None = field(
        default=None,
        metadata=figure(title="first token", unit="s", shown="speed", of="steady epochs", aggregate="median"),
    )
    # Of inference with batches of a single sample: percentiles of the steps of all passes but the first.
    latency_p50_seconds: float | None = field(default=None, metadata=figure(title="p50", unit="ms", shown="speed"))
    latency_p95_seconds: float | None = field(default=None, metadata=figure(title="p95", unit="ms", shown="speed"))
    latency_p99_seconds: float | None = field(default=None, metadata=figure(title="p99", unit="ms", shown="speed"))
    score: BesideBest | None = field(default=None, metadata=HIDDEN)  # where it was trained with several seeds
    short_processes: int = 0  # beside its repeats: they only timed some steps
    # of a program's fit, an epoch each: in its callbacks, and to make its batches alone, measured after its end
    callback_seconds: float | None = field(default=None, metadata=figure(title="callbacks", unit="s"))
    batch_making_seconds: float | None = field(default=None, metadata=figure(title="batches", unit="s"))
    # No columns.
    of_features: Mapping[str, float | None] = field(default_factory=dict, metadata=HIDDEN)  # by their columns' names
    of_kind: Any = field(default=None, metadata=HIDDEN)  # what only its kind of work knows (`WorkKind`)
    ratios: Mapping[str, Ratio] = field(default_factory=dict, metadata=HIDDEN)  # by kind
    # of its cells; what varied follows as columns
    point: RowKey = field(default=Point(()), metadata=figure("", of="cell", reported="key"))
    input: str = field(default="", metadata=figure("", of="facts"))  # "image", "flat" or "sequence"
    # in an epoch of the published setting
    available_samples: int | None = field(default=None, metadata=figure("", of="facts"))
    per_1000_interval: Interval | None = field(default=None, metadata=HIDDEN)  # of seconds_per_1000_samples
    steps: int = field(default=0, metadata=HIDDEN)  # per epoch; 0 if unknown
    # A known difference of its backend, if it does not learn like the others.
    learning_cause: str = field(default="", metadata=HIDDEN)
    # what must be known of its backend beside newer ones
    beside_newer: str = field(default="", metadata=figure("", of="facts"))
    findings: tuple[Finding, ...] = field(default=(), metadata=HIDDEN)  # of which notes and `differs` are made
    seeds: int = field(default=0, metadata=HIDDEN)  # the number of different seeds of the repeats that ended ok

    def value(self, name: str) -> Any:
        """What it has as one of `figures`."""
        column = hooks.columns().get(name)
        if column is None:
            return getattr(self, name)
        return column.of_compared(self) if column.of_compared else self.of_features.get(name)

    @property
    def work(self) -> Workload:
        """The kind of work that its times are of."""
        return workloads.workload_for(self.task, self.unit)

    @property
    def shown_seconds(self) -> float | None:
        """Its steady time, as tables show it."""
        return self.seconds_per_1000_samples if self.work.per_samples else self.epoch_seconds

    @property
    def epoch_samples(self) -> int:
        """Those of an epoch of all its data, as far as their number is known."""
        return self.available_samples or self.samples

    @property
    def memory_mib(self) -> float | None:
        """Its peak where it computes: on a GPU that of the GPU, else that of its process."""
        return self.peak_memory_mib if self.device == "cpu" else self.device_memory_mib

    @property
    def shown_interval(self) -> Interval | None:
        """The interval of that."""
        return self.per_1000_interval if self.work.per_samples else self.epoch_interval

    def has(self, kind: Kind | FeatureKind) -> Finding | None:
        """The first finding of that kind, if there is one."""
        return next((one for one in self.findings if one.kind == kind), None)

    def __post_init__(self) -> None:
        fastest, baseline, default = (self.ratios.get(kind) for kind in (TO_FASTEST, TO_BASELINE, TO_DEFAULT))
        found = {
            "relative_to_fastest": fastest and fastest.value,
            "relative_interval": fastest and fastest.interval,
            "relative_processes": fastest and fastest.processes,
            "process_interval": fastest and fastest.within,
            "relative_to_baseline": baseline and baseline.value,
            "baseline_interval": baseline and baseline.interval,
            "relative_to_default": default and default.value,
            "default_interval": default and default.interval,
            "findings": tuple(replace(one, subject=self.key) for one in self.findings),
            "differs": sentences.all_of(one for one in self.findings if self.is_apart_by(one)),
            "notes": sentences.all_of(one for one in self.findings if one.is_note and not self.is_apart_by(one)),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def is_apart_by(self, found: Finding) -> bool:
        """Whether it is not compared for that. Rows of observed work are, as long as the amount of work and what it
        came to are the same.
        """
        return found.differs and (found.is_amount_of_work or found.is_of_results or not self.work.observed)

    @property
    def unranked(self) -> str:
        """Why it is not compared though it ended ok, in a word or two for tables; empty if it is."""
        return "not finite" if self.has("not finite") else "differs" if self.differs else ""

    @property
    def key(self) -> RowKey:
        """What identifies it in its run."""
        return self.point

    @property
    def program(self) -> str:
        """The program that it is a line of, or its example."""
        return str(self.key[axes.EXAMPLE])

    @property
    def site(self) -> str:
        """The line of a program that it is of; empty if it is of an example."""
        return str(self.key[axes.SITE] or "")

    @property
    def title(self) -> str:
        """The example and, where that varies, what is done with it, such as `mnist_mlp (infer)`."""
        return axes.titled(self.example, {axes.TASK: self.key.named[axes.TASK]})

    @property
    def ranking(self) -> Point:
        """What it has in common with the rows that it is ranked against."""
        return self.key.ranking


def figures() -> Mapping[str, Figure]:
    """What the fields of Summary say of themselves, by name and in order; between them those of features' columns."""
    return _figures(Summary)


@lru_cache
def _figures(row: type[Summary]) -> Mapping[str, Figure]:
    told = {one.name: one.metadata.get("figure", Figure()) for one in fields(row)}
    names = [*told]
    for name, column in hooks.once(hooks.columns().items(), "column", names).items():
        told[name] = column.figure
        names.insert(names.index(column.after) + 1 if column.after in names else len(names), name)
    return {name: one if (one := told[name]).column is not None else replace(one, column=name) for name in names}
