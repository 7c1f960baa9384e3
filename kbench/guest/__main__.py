"""Starts the guest in a backend's own Python: `BACKEND_PYTHON kbench/guest spec.json`."""

import ctypes
import signal
import sys

from kbench_guest import cell

PR_SET_PDEATHSIG = 1

if __name__ == "__main__":
    # The kernel ends this process with its host, also while it is held: nobody else may be left to do so.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    sys.exit(cell.main(sys.argv[1]))
