"""The one place that reads and writes results/: a run's raw files."""

from __future__ import annotations

from kbench.store.events import GuestReport as GuestReport
from kbench.store.events import parse_events as parse_events
from kbench.store.events import read_events as read_events
from kbench.store.finding import REFERENCE as REFERENCE
from kbench.store.finding import by_time as by_time
from kbench.store.finding import find as find
from kbench.store.finding import latest as latest
from kbench.store.finding import names as names
from kbench.store.reading import ReadCells as ReadCells
from kbench.store.reading import RunRecord as RunRecord
from kbench.store.reading import RunResults as RunResults
from kbench.store.reading import measured_of as measured_of
from kbench.store.reading import outcome as outcome
from kbench.store.reading import read as read
from kbench.store.reading import read_record as read_record
from kbench.store.reading import spec as spec
from kbench.store.runs import EXPLAIN as EXPLAIN
from kbench.store.runs import LATEST as LATEST
from kbench.store.runs import PUBLISHED as PUBLISHED
from kbench.store.runs import CellFolder as CellFolder
from kbench.store.runs import cell_folder as cell_folder
from kbench.store.runs import check_name as check_name
from kbench.store.runs import create as create
from kbench.store.runs import filling as filling
from kbench.store.runs import import_times as import_times
from kbench.store.runs import is_cluster as is_cluster
from kbench.store.runs import keep_lock as keep_lock
from kbench.store.runs import keep_stdin as keep_stdin
from kbench.store.runs import machines as machines
from kbench.store.runs import parts as parts
from kbench.store.runs import plan_record as plan_record
from kbench.store.runs import record_end as record_end
from kbench.store.runs import results_of as results_of
from kbench.store.runs import set_aside as set_aside
from kbench.store.runs import stdin as stdin
from kbench.store.runs import update as update
from kbench.store.runs import write_outcome as write_outcome
from kbench.store.runs import write_spec as write_spec
from kbench.store.watched import WatchedFolder as WatchedFolder
