"""Forks a kbench for each line of its input, so that a hundred hosts need no hundred starts: see test_killed_host.

Line in: the arguments, as JSON. Lines out: `started PID`, and once it has ended `ended STATUS`.
"""

import json
import os
import sys
from pathlib import Path

from kbench import cli, launcher, paths, steadiness
from kbench.results import derived

# What is not measured in these tests takes the same time in each, so that tables can be compared byte for byte.
derived._pictures = lambda _, rows, style: {"": {}} | {row.example: {} for row in rows}
launcher.Memory.look = lambda self: None
launcher.POLL_SECONDS = 0.02
steadiness.busy_cores = lambda: 0.0
steadiness.reference_seconds = lambda: 0.01
paths.GUEST = Path(__file__).with_name("stub_guest.py")

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        quiet = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1):
            os.dup2(quiet, number)
        status = cli.main(json.loads(line))
        sys.stderr.flush()
        os._exit(status)
    print(f"started {child}", flush=True)
    _, ended = os.waitpid(child, 0)
    print(f"ended {os.waitstatus_to_exitcode(ended)}", flush=True)
