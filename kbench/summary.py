"""Defines Summary, a row of a table: what an example's repeats on a backend come to."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from kbench import axes, sentences, workloads
from kbench.axes import Point, RowKey, Value
from kbench.epochs import LikeLine
from kbench.findings import Finding, Kind
from kbench.values import BesideBest, Interval
from kbench.workloads import Workload

# What a row is compared with.
TO_FASTEST, TO_BASELINE, TO_DEFAULT, TO_NATIVE = "fastest", "baseline", "default", "native"
TO_RUN = "run"  # the same row of another run


@dataclass(frozen=True)
class Ratio:
    """The steady time of a row over that of a reference row: the same point but for some axes."""

    kind: str  # TO_FASTEST, TO_BASELINE, TO_DEFAULT, TO_NATIVE or TO_RUN
    reference: str  # backend of the other row
    value: float
    interval: Interval | None = None
    verdict: str = ""  # FASTEST and BASELINE for the reference itself
    processes: int | None = None  # the repeats that both rows have in common
    within: Interval | None = None  # if that is one: what other processes would show is not in it


def column(
    name: str = "", shape: Literal["value", "ends", "phases", "texts", "json"] = "value", of_task: str = ""
) -> dict[str, str]:
    """How a field of Summary stands in summary.csv; no name: not at all. of_task: the only task that has it."""
    return {"column": name, "shape": shape, "of_task": of_task}


@dataclass(frozen=True)
class Summary:
    """A row of an example's table. Its fields are summary.csv's columns: programs read the first 19 by position."""

    example: str
    backend: str
    image_data_format: str
    device: str
    profile: str
    status: str
    reason: str
    repeats: int  # how many of them ended ok
    epoch_seconds: float | None  # of a usual process, from undisturbed turns
    first_epoch_seconds: float | None
    samples_per_second: float | None  # of the steady epochs
    relative_to_fastest: float | None = field(init=False)  # this and other ratios: see `ratios`
    final_loss: float | None
    final_accuracy: float | None
    final_val_loss: float | None
    final_val_accuracy: float | None
    parameters: int | None
    keras_version: str
    backend_version: str
    # The position of the columns up to here never changes.
    task: str = "train"
    form: str = ""  # the form of the recurrent layers; empty if there are none
    # seconds, medians over the repeats
    phases: Mapping[str, float] = field(default_factory=dict, metadata=column("phases", "phases"))
    evaluation_seconds: float | None = None  # of one evaluation: median over epochs and repeats
    # of the steady epochs
    seconds_per_1000_samples: float | None = field(
        default=None, metadata=column("seconds_per_1000_images", of_task="infer")
    )
    batch_size: int = 0
    samples: int = 0  # in an epoch, as asked for
    validation_samples: int = 0
    epochs: int = 0  # as asked for
    data: str = ""  # the dataset's name
    data_source: str = ""  # "real" or "synthetic"
    data_sha256: str = ""
    notes: tuple[str, ...] = field(init=False, metadata=column("notes", "texts"))  # what else is found, in words
    # of epoch_seconds
    epoch_interval: Interval | None = field(default=None, metadata=column("epoch_seconds", "ends"))
    # of relative_to_fastest
    relative_interval: Interval | None = field(init=False, metadata=column("relative", "ends"))
    verdict: str = ""  # FASTEST, BASELINE, FASTER, SLOWER, NO_DIFFERENCE, NOT_COMPARED; empty without a ratio
    baseline: str = ""  # the backend that the user named as the baseline
    relative_to_baseline: float | None = field(init=False)
    baseline_interval: Interval | None = field(init=False, metadata=column("relative_to_baseline", "ends"))
    resampled: str = ""  # REPEATS or EPOCHS, the source of epoch_interval; empty if there is none
    resampled_values: int | None = None  # how many of them
    final_accuracy_sd: float | None = None  # over the repeats that ended ok: sample standard deviation
    final_val_accuracy_sd: float | None = None
    target: str = ""  # the example's own: "val_accuracy >= 0.99"
    epochs_to_target: float | None = None  # until it is first reached: median over repeats
    seconds_to_target: float | None = None  # of training, the first epoch included
    repeats_to_target: int | None = None  # how many reached it; None without a target
    deterministic: bool | None = None  # whether repeats with the same seed gave the same losses; None without repeats
    peak_memory_mib: float | None = None  # peak of the guest's process: median over the repeats
    import_memory_mib: float | None = None  # the same after the import of the framework
    tree_memory_mib: float | None = None  # peak with its child processes, such as compilers
    weights: str = ""  # where the initial weights are from: "seeded", "backend" or "published"
    fingerprint: str = ""  # a short hash of everything that must be equal to compare rows
    # how this row differs from the others, in words; it then has no ratio
    differs: tuple[str, ...] = field(init=False, metadata=column("differs", "texts"))
    step_seconds_median: float | None = None  # of all steps of the steady epochs
    step_seconds_p95: float | None = None
    compile_seconds: float | None = None  # of the first step, minus a steady one: median over the repeats
    device_memory_mib: float | None = None  # peak on the GPU: median over the repeats
    device_memory_source: str = ""  # "process", "device", or both
    allocator_peak_mib: float | None = None  # peak of the framework's own allocator on the GPU
    operations_per_sample: int | None = None  # floating-point operations, counted from the layers
    percent_of_limit: float | None = None  # 100: the speed that this machine's arithmetic and memory allow
    teardown_seconds: float | None = None  # from the last batch until fit or predict returned: mean of steady epochs
    # 95 % of its processes take at most so many times as long as the usual one, or as short; as the ratios assume
    between_process_factor: float | None = None
    unit: str = ""  # of its times, for a script: EPOCH, CALL, STEP, RUN or REST
    metrics: Mapping[str, float] = field(default_factory=dict, metadata=column("final_metrics", "json"))  # by name
    relative_to_default: float | None = field(init=False)  # a variant's ratio to its backend without settings
    default_interval: Interval | None = field(init=False, metadata=column("relative_to_default", "ends"))
    native: str = field(init=False)  # the backend of its framework without Keras, where the run has that
    relative_to_native: float | None = field(init=False)
    native_interval: Interval | None = field(init=False, metadata=column("relative_to_native", "ends"))
    turns: int = 0  # of its processes with those of other rows; 0 if they did not take turns
    disturbed_turns: int = 0  # those during which other programs used the processor: left out
    relative_processes: int | None = field(init=False)  # the repeats that this row and the fastest have in common
    # of relative_to_fastest, if that is from one process: what others would show is not in it
    process_interval: Interval | None = field(init=False, metadata=column("relative_in_process", "ends"))
    # Of a script's line.
    calls: int | None = None
    first_calls: int | None = None  # of a new model, or of one compiled anew
    total_seconds: float | None = None  # of all calls, each from its start to its return: its part of the program
    around_seconds: float | None = None  # of a call of fit, outside its epochs and their validation: mean
    steady_epoch_seconds: float | None = None  # of all epochs of a fit but those that compile: median
    threads: int | None = None  # of each of its processes
    recurrent_kernel: str = ""  # what computed its recurrent layers: fused, scan, loop or unrolled; empty if unknown
    # more with each epoch, pass or call, where it grows all along: median over the repeats
    memory_growth_mib: float | None = None  # 0: it does not grow
    tokens_per_second: float | None = None  # that a model wrote, in the steady passes
    first_token_seconds: float | None = None  # from a batch of texts to the first token behind each: median
    # Of inference with batches of a single sample: percentiles of the steps of all passes but the first.
    latency_p50_seconds: float | None = None
    latency_p95_seconds: float | None = None
    latency_p99_seconds: float | None = None
    # of the call's outputs from those of other backends, in the largest number of an output; None unless all agree
    outputs_apart: float | None = field(default=None, metadata=column())
    like_line: LikeLine | None = field(default=None, metadata=column())  # that returned the same before it
    afterwards: str = field(default="", metadata=column())  # what was found out when the program had ended
    # of predict_on_batch with the samples of a predict in a loop, where it takes much less
    on_batch_seconds: float | None = field(default=None, metadata=column())
    score: BesideBest | None = field(default=None, metadata=column())  # where it was trained with several seeds
    # seconds of its second and its last epoch or call, where each takes longer than those before; (): they do not
    time_growth: tuple[float, ...] | None = field(default=None, metadata=column())
    # of callback_seconds: in no epoch's time
    outside_callback_seconds: float | None = field(default=None, metadata=column())
    first_losses: tuple[float, ...] = field(default=(), metadata=column())  # of a line that trains step by step
    compiled_again: int = field(default=0, metadata=column())  # by its epochs or calls after the first
    short_processes: int = 0  # beside its repeats: they only timed some steps
    # of a program's fit, an epoch each: in its callbacks, and to make its batches alone, measured after its end
    callback_seconds: float | None = None
    batch_making_seconds: float | None = None
    # No columns.
    ratios: Mapping[str, Ratio] = field(default_factory=dict, metadata=column())  # by kind
    # of its cells; they follow as columns
    axes: Mapping[str, Value] = field(default_factory=dict, metadata=column())
    input: str = field(default="", metadata=column())  # "image", "flat" or "sequence"
    available_samples: int | None = field(default=None, metadata=column())  # in an epoch of the published setting
    per_1000_interval: Interval | None = field(default=None, metadata=column())  # of seconds_per_1000_samples
    steps: int = field(default=0, metadata=column())  # per epoch; 0 if unknown
    # A known difference of its backend, if it does not learn like the others.
    learning_cause: str = field(default="", metadata=column())
    beside_newer: str = field(default="", metadata=column())  # what must be known of its backend beside newer ones
    findings: tuple[Finding, ...] = field(default=(), metadata=column())  # of which notes and `differs` are made
    seeds: int = field(default=0, metadata=column())  # the number of different seeds of the repeats that ended ok

    @property
    def work(self) -> Workload:
        """The kind of work that its times are of."""
        return workloads.of(self.task, self.unit)

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

    def has(self, kind: Kind) -> Finding | None:
        """The first finding of that kind, if there is one."""
        return next((one for one in self.findings if one.kind == kind), None)

    def __post_init__(self) -> None:
        fastest, baseline, default, native = (
            self.ratios.get(kind) for kind in (TO_FASTEST, TO_BASELINE, TO_DEFAULT, TO_NATIVE)
        )
        found = {
            "relative_to_fastest": fastest and fastest.value,
            "relative_interval": fastest and fastest.interval,
            "relative_processes": fastest and fastest.processes,
            "process_interval": fastest and fastest.within,
            "relative_to_baseline": baseline and baseline.value,
            "baseline_interval": baseline and baseline.interval,
            "relative_to_default": default and default.value,
            "default_interval": default and default.interval,
            "relative_to_native": native and native.value,
            "native_interval": native and native.interval,
            "native": native.reference if native else "",
            "findings": tuple(replace(one, subject=self.key) for one in self.findings),
            "differs": sentences.all_of(one for one in self.findings if self.is_apart_by(one)),
            "notes": sentences.all_of(one for one in self.findings if one.is_note and not self.is_apart_by(one)),
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def is_apart_by(self, found: Finding) -> bool:
        """Whether it is not compared for that. A program's rows are, as long as the model is the same."""
        return found.differs and (found.of_size or not self.work.of_program)

    @property
    def trains(self) -> tuple[str, ...]:
        """Of a program's line: how it trains otherwise than on other backends, as what ends a sentence on it."""
        return sentences.ends(self.findings) if self.work.of_program else ()

    @property
    def key(self) -> RowKey:
        """What identifies it in its run."""
        return axes.key(self)

    @property
    def title(self) -> str:
        """The example and, where that varies, what is done with it, such as `mnist_mlp (infer)`."""
        return axes.titled(self.example, {axes.TASK: self.axes.get(axes.TASK)})

    def on(self, axis: str) -> Value | None:
        """Its value on an axis, whether that varies in its run or not; None if it has none."""
        value: Value | None = self.axes.get(axis, getattr(self, axis, None))
        return value or None

    def point_with(self, names: Collection[str], **others: Value) -> Point:
        """Its point among several runs: with its values on axes that do not vary in its own, and with others."""
        return axes.point({**dict(self.key.values), **{name: self.on(name) or "" for name in names}, **others})

    @property
    def ranking(self) -> Point:
        """What it has in common with the rows that it is ranked against."""
        return self.key.ranking
