"""Programs on real backends, cut short by --max-steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from real_runs import Kbench

from kbench import store

pytestmark = [pytest.mark.timeout(3600), pytest.mark.slow("several backends start")]
PROGRAMS = Path(__file__).parent / "programs"

# What a program prints of each fit: its steps in each epoch, the steps or samples that Keras says it has, val_loss.
CUT = {
    "keras2/tensorflow": "arrays [3, 3, 3] 96 []\nlists [3, 3, 3] 96 []\nsmall [2, 2, 2] 40 []\n"
    "split [3, 3, 3] 96 ['58.51', '58.51', '58.51']\nweights [3, 3, 3] 96 ['0.03', '0.03', '0.03']\n",
    "": "arrays [3, 3, 3] 3 []\nlists [3, 3, 3] 3 []\nsmall [2, 2, 2] 2 []\n"
    "split [3, 3, 3] 3 ['58.51', '58.51', '58.51']\nweights [3, 3, 3] 3 ['0.03', '0.03', '0.03']\n",
}
CUT_OF_ALL = (
    "Sequence [3, 3, 3] 3 ['0.03', '0.03', '0.03']\nshort Sequence [2, 2, 2] 2 []\n"
    "steps [3, 3, 3] 3 ['0.00', '0.00', '0.00']\nfew steps [2, 2, 2] 2 []\n"
    "evaluate 58.51\npredict (320, 1) (40, 1)\nSequence (308, 1)\n"
)
AT_ONCE = (  # executions of steps
    "two at once [2, 2, 2] 3 []\ntwo at once, steps [1, 1, 1] 2 []\ntwenty at once [1, 1, 1] 3 []\n"
)
OF_ARRAYS = "tensors [3, 3, 3] 3 []\na generator that ends [2, 2, 2] None []\n"
OF_ONE = {
    "keras2/tensorflow": "lists of numbers [3, 3, 3] 96 []\n",
    "keras3/torch": OF_ARRAYS + "DataLoader [3, 3, 3] 3 ['0.03', '0.03', '0.03']\nDataLoader (320, 1)\n",
    "keras3/jax": OF_ARRAYS + AT_ONCE,
    "keras3/tensorflow": OF_ARRAYS
    + AT_ONCE
    + "Dataset [3, 3, 3] 3 ['0.03', '0.03', '0.03']\nendless Dataset [3, 3, 3] 3 []\nDataset (320, 1) 0.03\n",
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "names",
    [
        ("keras2/tensorflow", "keras3/torch"),
        pytest.param(("keras3/tensorflow", "keras3/jax"), marks=pytest.mark.thorough),
    ],
)
def test_a_cut_program_is_the_same_program_with_fewer_steps(names: tuple[str, ...], kbench: Kbench) -> None:
    run = kbench.script(PROGRAMS / "cut_short.py", ",".join(names), "--max-steps", "3")
    assert run.status == 0, run.output
    for one in run.results().measured:
        name, printed = one.cell.backend, store.cell_folder(run.folder, one.cell).stdout.read_text()
        assert printed == CUT.get(name, CUT[""]) + CUT_OF_ALL + OF_ONE[name]
    assert "--max-steps cuts each epoch to 3 steps" in " ".join(run.output.split())
