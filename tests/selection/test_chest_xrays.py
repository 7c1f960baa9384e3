"""The program for a folder of chest X-rays: its split, pictures, loader and score; Keras is not needed."""

from __future__ import annotations

import csv
import re
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "examples_models" / "programs" / "chest_xrays.py"


class Picture:
    """As much of a picture of PIL as the program asks for; each pixel is its row + column, in three colours."""

    def convert(self, mode: str) -> Picture:
        assert mode == "RGB"
        return self

    def resize(self, size: tuple[int, int], how: str) -> Any:
        rows, columns = np.indices(size)
        return np.repeat((rows * 0.5 + columns * 0.25)[..., None], 3, axis=2)


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    layout = ["channels_last"]
    keras, pil = ModuleType("keras"), ModuleType("PIL")
    vars(keras).update(backend=SimpleNamespace(image_data_format=lambda: layout[0]))
    vars(pil).update(Image=SimpleNamespace(open=lambda file: Picture(), BILINEAR="bilinear"))
    model = ModuleType("densenet121_chestxray")
    vars(model).update(build_model=None)
    optimizers = ModuleType("keras.optimizers")
    vars(optimizers).update(Adam=None)
    for name, module in (
        ("keras", keras),
        ("keras.optimizers", optimizers),
        ("PIL", pil),
        ("densenet121_chestxray", model),
    ):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return SimpleNamespace(layout=layout, **runpy.run_path(str(PROGRAM)))


def test_patients_are_split_as_published_and_none_is_in_two_parts(program: SimpleNamespace, tmp_path: Path) -> None:
    pictures = [(patient, f"{patient}_{number}.png", []) for patient in range(1, 30806) for number in range(2)]
    parts = program.split(pictures)
    patients = [sorted({one[0] for one in part}) for part in parts]
    assert [len(one) for one in patients] == [21563, 3080, 6162] and sum(map(len, parts)) == len(pictures)
    assert patients[0][-1] + 1 == patients[1][0] and patients[1][-1] + 1 == patients[2][0]


def test_a_folders_table_names_its_pictures_and_their_diseases(program: SimpleNamespace, tmp_path: Path) -> None:
    (tmp_path / "images_001" / "images").mkdir(parents=True)
    file = tmp_path / "images_001" / "images" / "00000001_000.png"
    file.write_bytes(b"")
    with (tmp_path / "Data_Entry_2017.csv").open("w", newline="") as table:
        rows = csv.writer(table)
        rows.writerow(["Image Index", "Finding Labels", "Follow-up #", "Patient ID", "OriginalImage[Width"])
        rows.writerow([file.name, "Mass|Hernia", 0, 1, 2682])
    ((patient, found, labels),) = program.listed(str(tmp_path))
    assert (patient, found) == (1, str(file))
    assert [name for name, has in zip(program.DISEASES, labels, strict=True) if has] == ["Mass", "Hernia"]


def test_what_is_missing_in_a_folder_is_said(
    program: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match=re.escape(f"There is no Data_Entry_2017.csv in {tmp_path}.")):
        program.listed(str(tmp_path))
    (tmp_path / "Data_Entry_2017.csv").write_text(
        "Image Index,Finding Labels,Patient ID\na.png,Mass,1\nb.png,Mass,1\n"
    )
    (tmp_path / "b.png").write_bytes(b"")
    assert [Path(file).name for _, file, _ in program.listed(str(tmp_path))] == ["b.png"]
    assert capsys.readouterr().out == "1 of the table's 2 pictures are not there and left out\n"


def test_a_batchs_loss_is_its_own_where_keras_would_return_a_mean(program: SimpleNamespace) -> None:
    class Model:
        seen: ClassVar[list[float]] = []

        def reset_metrics(self) -> None:
            self.seen.clear()

        def train_on_batch(self, x: float, y: float) -> np.ndarray:
            self.seen.append(x)
            return np.mean(self.seen)  # type: ignore[return-value]

    assert [program.trained_on(Model(), x, 0.0) for x in (1.0, 3.0)] == [1.0, 3.0]


def test_a_picture_is_cropped_and_flipped_only_for_training(program: SimpleNamespace) -> None:
    middle = program.loaded("a.png")
    assert middle.shape == (224, 224, 3) and middle[0, 0, 0] == pytest.approx(20 * 0.75 / 255)
    random = np.random.RandomState(0)
    trained = [program.loaded("a.png", random) for _ in range(40)]
    assert len({float(one.min()) for one in trained}) > 20
    assert 10 < sum(one[0, 0, 0] > one[0, -1, 0] for one in trained) < 30
    program.layout[0] = "channels_first"
    assert program.loaded("a.png").shape == (3, 224, 224)


def test_the_loader_gives_every_picture_once_and_tells_of_a_bad_file(program: SimpleNamespace) -> None:
    pictures = [(1, f"{number}.png", [number] * 14) for number in range(10)]
    parts = list(program.ahead(program.batches(pictures, 4, np.random.RandomState(0))))
    assert [x.shape for x, _ in parts] == [(4, 224, 224, 3), (4, 224, 224, 3), (2, 224, 224, 3)]
    seen = [int(y[0]) for _, labels in parts for y in labels]
    assert sorted(seen) == list(range(10)) != seen
    with pytest.raises(OSError, match="no picture"):
        list(program.ahead(unreadable()))


def unreadable() -> Any:
    yield 1
    raise OSError("no picture")


def test_the_area_under_the_curve_is_the_chance_of_the_right_order(program: SimpleNamespace) -> None:
    random = np.random.RandomState(0)
    scores, labels = random.randint(0, 8, 60) / 8.0, random.randint(0, 2, 60).astype("float32")
    ill, well = scores[labels > 0][:, None], scores[labels == 0][None]
    expected = (ill > well).mean() + 0.5 * (ill == well).mean()
    assert program.area_under_curve(scores, labels) == pytest.approx(expected)
    assert program.area_under_curve(scores, np.zeros(60)) is None
