"""The program for a user's folder of chest X-rays, run on a small made-up one in the published form."""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from real_runs import CHECKOUT, Finished, Kbench

from kbench import store
from kbench.features.script import events

pytestmark = [pytest.mark.timeout(1800), pytest.mark.slow("three backends start")]

PROGRAM = CHECKOUT / "examples_models" / "programs" / "chest_xrays.py"
COLUMNS = (
    "Image Index,Finding Labels,Follow-up #,Patient ID,Patient Age,Patient Gender,View Position,"
    "OriginalImage[Width,Height],OriginalImagePixelSpacing[x,y],"
)
OTHERS = (58, "M", "PA", 40, 48, 0.1, 0.1, "")
# In place of DenseNet-121. Its weights begin as zeros, so that every backend prints the same.
SMALL = '''"""How bright a picture is, seen by one layer."""

from keras.layers import Dense, GlobalAveragePooling2D, Input
from keras.models import Model


def build_model(input_shape):
    pictures = Input(shape=input_shape)
    return Model(pictures, Dense(14, activation="sigmoid", kernel_initializer="zeros")(
        GlobalAveragePooling2D()(pictures)
    ))
'''


@pytest.fixture
def xrays(tmp_path: Path) -> Path:
    """60 pictures of 20 patients; an effusion is bright, on the right or on the left."""
    folder = tmp_path / "xrays"
    random = np.random.RandomState(0)
    rows = []
    for number in range(60):
        patient, ill = 7 + 11 * (number // 3), bool(random.randint(2) if number % 3 else number % 2)
        name = f"{patient:08d}_{number % 3:03d}.png"
        place = folder / f"images_{1 + number % 2:03d}" / "images"
        place.mkdir(parents=True, exist_ok=True)
        pixels = random.randint(60, 120, (48, 40)).astype("uint8")
        pixels[:, :20] += np.uint8(60 * ill)
        # Some of the published files have four colours.
        Image.fromarray(pixels).convert("RGBA" if number % 9 == 0 else "L").save(place / name)
        rows.append([name, "Effusion|Mass" if ill else "No Finding", number % 3, patient, *OTHERS])
    rows.append(["99999999_000.png", "Hernia", 0, 99999999, *OTHERS])
    with (folder / "Data_Entry_2017.csv").open("w", newline="") as table:
        table.write(f"{COLUMNS}\n")
        csv.writer(table).writerows(rows[place] for place in random.permutation(len(rows)))
    return folder


def printed(run: Finished) -> dict[str, str]:
    """What each backend's program printed."""
    return {
        one.cell.backend: store.cell_folder(run.folder, one.cell).stdout.read_text("utf-8")
        for one in run.results().measured
    }


@pytest.mark.thorough
def test_a_folder_of_xrays_is_split_by_patient_loaded_trained_on_and_scored_alike(
    kbench: Kbench, xrays: Path, tmp_path: Path
) -> None:
    program = tmp_path / "copied" / "programs" / PROGRAM.name
    program.parent.mkdir(parents=True)
    shutil.copy(PROGRAM, program)
    (program.parent.parent / "densenet121_chestxray.py").write_text(SMALL)
    arguments = ("--workdir", "same", "--", str(xrays), "--epochs", "2", "--batch-size", "8")
    run = kbench.script(program, "keras3/jax,keras3/torch,keras2/tensorflow", *arguments)
    assert run.status == 0, run.output
    outputs = printed(run)
    assert len(outputs) == 3
    losses = {
        backend: [float(loss) for loss in re.findall(r"loss (\d\.\d{4})", one)] for backend, one in outputs.items()
    }
    for backend, output in outputs.items():
        assert re.sub(r"loss \d\.\d{4}", "loss #", output).splitlines() == [
            "1 of the table's 61 pictures are not there and left out",
            "42 pictures to train, 6 to validate and 12 to test",
            "epoch 1: loss #, mean AUC of validation 1.0000",
            "epoch 2: loss #, mean AUC of validation 1.0000",
            "mean AUC of the test 1.0000",
        ]
        assert losses[backend][1] < losses[backend][0] < 0.7
        # As it ships, Adam of Keras 2 on TensorFlow 1 begins with step 2.
        assert losses[backend] == pytest.approx(losses["keras3/jax"], abs=1e-4 if "keras3" in backend else 2e-3)
    for one in run.results().measured:  # calls that take little of a program's time are no rows
        assert {site.partition(",")[0] for site in events.sites(one.facts)} >= {"train_on_batch", "predict_on_batch"}


@pytest.mark.thorough
def test_a_folder_that_is_none_is_named(kbench: Kbench, tmp_path: Path) -> None:
    run = kbench.script(PROGRAM, "keras3/torch", "--workdir", "same", "--", str(tmp_path))
    assert run.status == 1 and f"There is no Data_Entry_2017.csv in {tmp_path}." in " ".join(run.output.split())


@pytest.mark.thorough
def test_the_published_network_trains_on_it(kbench: Kbench, xrays: Path) -> None:
    for place in xrays.rglob("*.png"):
        if int(place.name[:8]) >= 7 + 11 * 10:
            place.unlink()
    arguments = ("--workdir", "same", "--", str(xrays), "--epochs", "1", "--batch-size", "7")
    run = kbench.script(PROGRAM, "keras3/jax,keras3/torch,keras2/tensorflow2", *arguments)
    assert run.status == 0, run.output
    for output in printed(run).values():
        assert "21 pictures to train, 3 to validate and 6 to test" in output
        assert re.search(r"^mean AUC of the test [01]\.\d{4}$", output, re.MULTILINE), output
