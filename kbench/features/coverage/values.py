"""The values of a coverage run: a case of a public name, and what came of it on a backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kbench.features.coverage.inputs import TELLING

KIND = "coverage"  # of a run

SAME = "same"
WORKS = "works"  # and nothing to compare it with
DIFFERS = "differs"
RAISES = "raises"
CRASHES = "crashes"
HANGS = "hangs"
ABSENT = "absent"
UNTRIED = "untried"  # no input is known that any backend takes
NOT_RUN = "not run"  # its backend is not available, or was interrupted
# The worst first: a name is what the worst of its cases is.
STATES = (CRASHES, HANGS, DIFFERS, RAISES, SAME, WORKS, UNTRIED, ABSENT, NOT_RUN)
GOOD = (SAME, WORKS)
# The checks of a case, the simplest first: each is made where the outputs are right.
OUTPUTS = "outputs"
GRADIENTS = "gradients"
FIT = "fit"
GRAPH = "graph"
SYMBOLIC = "symbolic"
CONFIG = "config"
COPY = "copy"
INFERENCE = "inference"
BATCH = "batch"
WITHIN = ("Sequential", "TimeDistributed", "Bidirectional", "RNN")  # another layer, or a model
JIT = "jit"
CLONE = "clone"
SEED = "seed"
FORMATS = ("keras", "h5")  # of files
ELSEWHERE = "elsewhere"
EXPORT = "export"
CHECKS = (
    OUTPUTS, SYMBOLIC, INFERENCE, BATCH, GRAPH, JIT, GRADIENTS, FIT, CONFIG, COPY, CLONE, SEED, *WITHIN, *FORMATS,
    ELSEWHERE, EXPORT,
)  # fmt: skip
BAD = (CRASHES, HANGS, DIFFERS, RAISES)
TRIED = (*GOOD, *BAD)

# What became of a name from one version to another, the worst first.
BROKE = "broke"
GONE = "gone"
CHANGED = "changed"  # fails otherwise, or gives something else though it is still as others have it
MENDED = "mended"
NEW = "new"
CHANGES = (BROKE, GONE, CHANGED, MENDED, NEW)


@dataclass(frozen=True)
class ProbeCase:
    """A public name with settings, and the inputs to try it with. Its fields are what the guest is told."""

    id: int
    name: str  # "layers.Dense"
    settings: Mapping[str, Any]
    inputs: tuple[str, ...]  # names in `inputs.INPUTS`; the first that is taken counts
    arrays: tuple[str, ...] = ()  # the parameters of a function that get them
    apart: bool = False  # whether it is called with several arguments, not with a list
    masked: bool = False  # whether a Masking layer comes before it
    random: bool = False  # whether only mean and standard deviation can be compared
    draws: bool = False  # whether what it computes may be random: it is computed twice
    weights: tuple[float, float] | None = (-0.5, 0.5)  # between which a layer's are drawn; None: it has them
    code: str = ""  # in place of the plain call: what makes a layer, or what is computed from x0, x1, ...
    dtype: str = ""  # or policy, in which a layer computes; a dtype is that of its inputs, too
    outputs_only: bool = False  # whether nothing but its outputs is looked at
    seed: int = 0  # of its inputs and weights
    training: bool = False  # whether a layer is called as in training, after which its state is an output, too
    inference: bool = False  # whether it is called with training=False
    varies: str = ""  # the argument that is other than in the plain case, alone
    wrong: str = ""  # what is wrong of it, in words: it is to be refused
    fitted: bool = False  # whether it is a loss or a metric that `fit` is given, with weights

    @property
    def is_usual(self) -> bool:
        """Whether models are given such inputs."""
        return not self.outputs_only and not TELLING & {*self.inputs[:1]}


@dataclass(frozen=True)
class CaseResult:
    """What came of a case on a backend."""

    case: ProbeCase
    backend: str
    state: str
    sentence: str = ""  # its own error, or what differs
    deviation: float | None = None  # from the reference, of the largest number where that is above 1
    against: str = ""  # the backend that it was compared with
    inputs: str = ""  # that it took
    check: str = OUTPUTS  # of CHECKS, which that is about
    known: str = ""  # the declared difference that may be why, without a full stop


@dataclass(frozen=True)
class NameResult:
    """A public name on a backend: what the worst of its cases is."""

    name: str
    backend: str
    state: str
    cases: tuple[CaseResult, ...] = field(default=())

    @property
    def worst(self) -> CaseResult | None:
        """The case that makes it what it is: the simplest on plain inputs, and of those the one that differs most."""
        found = [one for one in self.cases if one.state == self.state]
        return max(
            found,
            key=lambda one: (
                one.case.is_usual,
                not one.case.masked,
                -len(one.case.settings),
                one.deviation or 0.0,
            ),
            default=None,
        )
