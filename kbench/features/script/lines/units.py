"""What the times of a row of a program are of."""

from __future__ import annotations

from kbench.records.values import SCRIPT
from kbench.records.workloads import Workload

# An epoch, a call, a step of a loop of the program, the whole program, or what is in no other row.
EPOCH, CALL, STEP, RUN, REST = "epoch", "call", "step", "run", "rest"

WORKLOADS = {
    EPOCH: Workload("epoch", "epochs", "is", kind=SCRIPT),
    CALL: Workload("call", "calls", "is", kind=SCRIPT, by_call=True),
    STEP: Workload("step", "steps", "is", kind=SCRIPT, by_call=True),
    RUN: Workload("run", "runs", "runs", kind=SCRIPT, once=True),
    REST: Workload("rest", "rests", "runs", kind=SCRIPT, once=True, compared=False),
}
