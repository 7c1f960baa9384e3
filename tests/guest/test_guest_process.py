"""What a guest's process uses: its libraries are found in the list of what is mapped, and asked for their threads."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from guest_modules import alone

process = alone("process")

MAPS = """\
7f00-7f01 r-xp 00000000 08:01 11 /env/lib/libmkl_rt.so.2
7f01-7f02 r--p 00001000 08:01 11 /env/lib/libmkl_rt.so.2
7f02-7f03 r-xp 00000000 08:01 12 /env/with a blank/libgomp-a34b3233.so.1.0.0
7f03-7f04 r-xp 00000000 08:01 13 /env/libopenblasp-r0-2ecf47d5.3.7.dev.so (deleted)
7f04-7f05 r-xp 00000000 08:01 14 /env/libopenblas_wrapper.txt.d/libc.so.6
7f05-7f06 rw-p 00000000 00:00 0
7f06-7f07 rw-p 00000000 00:00 0 [heap]
7f07-7f08 r-xp 00000000 08:01 15 /env/libdnnl.so.3
"""


def test_each_library_is_named_once_and_others_are_not(tmp_path: Path) -> None:
    (tmp_path / "maps").write_text(MAPS)
    assert process.libraries(str(tmp_path / "maps")) == [
        {"kind": "oneDNN", "file": "libdnnl.so.3", "threads": None},
        {"kind": "GNU OpenMP", "file": "libgomp-a34b3233.so.1.0.0", "threads": None},
        {"kind": "MKL", "file": "libmkl_rt.so.2", "threads": None},
        {"kind": "OpenBLAS", "file": "libopenblasp-r0-2ecf47d5.3.7.dev.so", "threads": None},
    ]


def test_the_blas_of_this_numpy_is_found_with_its_threads() -> None:
    np.ones((2, 2)) @ np.ones((2, 2))
    named = process.numpy_blas()
    found = process.libraries()
    assert "openblas" not in named or any(one["kind"] == "OpenBLAS" and one["threads"] >= 1 for one in found)


def test_a_process_that_sleeps_is_not_ready_and_one_that_computes_is(tmp_path: Path) -> None:
    for number, waited in ((1, 3_000_000_000), (2, 500_000_000)):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "schedstat").write_text(f"7 {waited} 1\n")
    (tmp_path / "3").mkdir()
    (tmp_path / "3" / "schedstat").write_text("")
    tasks, used = str(tmp_path / "*" / "schedstat"), time.process_time()
    assert 3.5 + used <= process.ready_seconds(tasks) <= 3.5 + time.process_time() + 0.1
    assert process.ready_seconds(str(tmp_path / "nothing")) is None, "of a kernel that keeps none"
