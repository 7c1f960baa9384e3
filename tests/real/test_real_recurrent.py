"""Which kernel computes a recurrent layer, asked of the frameworks themselves."""

from __future__ import annotations

import subprocess

import pytest

from kbench.base import paths
from kbench.environments import ensure
from kbench.selection import backends

BACKENDS = backends.load_all(paths.project_folder("backends"))

OF_TORCH = """
import torch
from kbench_guest.frameworks import recurrent

for kind in (torch.nn.LSTM, torch.nn.GRU):
    with recurrent.in_torch() as seen:
        kind(3, 4)(torch.zeros(1, 5, 3))
    print(kind.__name__, sorted(seen))
"""


@pytest.mark.timeout(3600)
def test_on_a_cpu_pytorch_has_a_fused_kernel_for_its_lstm_and_none_for_its_gru() -> None:
    about = BACKENDS["native/torch"]
    environment = ensure.ensure(about, next(build for build in about.builds if build.device == "cpu"))
    variables = {**ensure.variables(environment, 1), "PYTHONPATH": str(paths.GUEST)}
    found = subprocess.run([environment.python, "-c", OF_TORCH], env=variables, capture_output=True, text=True)
    assert found.stdout.splitlines() == ["LSTM ['fused']", "GRU []"], found.stderr
