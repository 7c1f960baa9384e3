"""Starts the guest in a backend's own Python: `BACKEND_PYTHON kbench/guest spec.json`."""

import sys

from kbench_guest import cell

if __name__ == "__main__":
    sys.exit(cell.main(sys.argv[1]))
