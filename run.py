#!/usr/bin/env python3
""":" # kbench's front door: `python run.py --backends tensorflow,cntk,theano`, with any Python from 3.11.
exec python3 "$0" "$@" # what sh reads of it
"""

# Every Python since 2.7 must be able to read this file, so that an old one gets a sentence instead of a
# SyntaxError. What comes after the version check is in kbench/bootstrap/entry.py.
import os
import sys


def main():
    """Say which Python is needed, or hand over to the front door; returns the exit status."""
    if sys.version_info < (3, 11):
        sys.stderr.write(
            "kbench: error: Python 3.11 or newer is needed and this is Python %d.%d: "
            "start it with a newer one, such as `python3.12 run.py`.\n" % sys.version_info[:2]
        )
        return 2
    checkout = os.path.dirname(os.path.abspath(__file__))
    if checkout not in sys.path[:1]:  # with -P or PYTHONSAFEPATH
        sys.path.insert(0, checkout)
    from kbench.base.locales import start_in_utf8
    from kbench.bootstrap.entry import main as front_door

    start_in_utf8()
    return front_door(sys.argv[1:])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # while it imports
        sys.exit(130)
