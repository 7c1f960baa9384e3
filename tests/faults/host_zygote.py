"""Starts many kbench processes quickly, by forking one that has imported everything: see test_killed_host.

Line in: the arguments and the seconds after which it is killed or null, as JSON. Line out: how it ended, as
os.waitstatus_to_exitcode says it; and a first one, `ready`.
"""

import json
import os
import select
import signal
import sys
from pathlib import Path

import scipy.stats  # noqa: F401  # or each host would take seconds to load it

from kbench import hooks
from kbench.base import paths
from kbench.cells import launcher, runner
from kbench.cli import main
from kbench.commands import resume, run  # noqa: F401  # the same
from kbench.machine import host
from kbench.outputs import one_run  # noqa: F401
from kbench.session import known_spreads

# What is not measured in these tests takes the same time in each, so that tables can be compared byte for byte.
vars(launcher)["MemoryWatch"].sample = lambda self, seconds: None
launcher.POLL_SECONDS = 0.02
host.busy_cores = lambda: 0.0
vars(runner)["share_of_others"] = lambda before, after: 0.0
vars(hooks)["of_machine"] = lambda plan, earlier: {}
vars(known_spreads)["keep"] = lambda measured: None
paths.GUEST = Path(__file__).with_name("stub_guest.py")

print("ready", flush=True)
for line in sys.stdin:
    argv, kill_after = json.loads(line)
    child = os.fork()
    if child == 0:
        quiet = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1):
            os.dup2(quiet, number)
        status = main.main(argv)
        sys.stderr.flush()
        os._exit(status)
    ended = os.pidfd_open(child)
    if kill_after is not None and not select.select([ended], [], [], kill_after)[0]:
        os.kill(child, signal.SIGKILL)
    _, how = os.waitpid(child, 0)
    os.close(ended)
    print(os.waitstatus_to_exitcode(how), flush=True)
