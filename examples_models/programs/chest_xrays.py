"""Trains DenseNet-121 on your folder of chest X-rays, as Microsoft's comparison of frameworks did.

    python run.py script examples_models/programs/chest_xrays.py --workdir same --backends jax,torch -- /data/xrays

The folder is that of ChestX-ray14: Data_Entry_2017.csv, and all or some of its PNG files in any folder below.
Patients are split 70, 10 and 20 % in the order of their numbers; of the real folder these are 87,306, 7,616 and
17,198 pictures. A thread reads ahead: it makes pictures 264 x 264, crops 224 x 224 and flips half of them; those that
are only scored are cropped in the middle. The score is the mean area under the curve (AUC) of the 14 diseases.

- [DeepLearningFrameworks](https://github.com/ilkarman/DeepLearningFrameworks) (Karmanov et al., 2018)
- [ChestX-ray8](https://arxiv.org/abs/1705.02315)
"""
# /// script
# dependencies = ["pillow"]
# ///

import argparse
import csv
import os
import queue
import sys
import threading

import numpy as np
from keras import backend
from keras.optimizers import Adam
from PIL import Image

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
from densenet121_chestxray import build_model

NAMES = """Atelectasis Cardiomegaly Effusion Infiltration Mass Nodule Pneumonia Pneumothorax
Consolidation Edema Emphysema Fibrosis Pleural_Thickening Hernia"""
DISEASES = NAMES.split()
TABLE = "Data_Entry_2017.csv"
LOADED, CROPPED = 264, 224


def listed(folder):
    """[(patient, file, 14 labels)] of the pictures that are there, in the table's order."""
    files = {name: os.path.join(place, name) for place, _, names in os.walk(folder) for name in names}
    if TABLE not in files:
        sys.exit("There is no %s in %s." % (TABLE, os.path.abspath(folder)))
    with open(files[TABLE], newline="") as table:
        rows = [(int(row["Patient ID"]), row["Image Index"], row["Finding Labels"]) for row in csv.DictReader(table)]
    found = [(patient, files[name], labels.split("|")) for patient, name, labels in rows if name in files]
    if len(found) < len(rows):
        print("%d of the table's %d pictures are not there and left out" % (len(rows) - len(found), len(rows)))
    return [(patient, file, [disease in labels for disease in DISEASES]) for patient, file, labels in found]


def split(pictures):
    """Those of the first 70 % of the patients, of the next 10 % and of the last 20 %."""
    patients = sorted({patient for patient, _, _ in pictures})
    first = int(0.7 * len(patients))
    second = first + (len(patients) - first) // 3
    parts = (patients[:first], patients[first:second], patients[second:])
    return [[one for one in pictures if one[0] in inside] for inside in map(set, parts)]


def loaded(file, random=None):
    """A picture from 0 to 1; with random numbers it is cropped anywhere and flipped."""
    picture = np.asarray(Image.open(file).convert("RGB").resize((LOADED, LOADED), Image.BILINEAR), "float32") / 255
    room = LOADED - CROPPED
    top, left = random.randint(0, room + 1, size=2) if random else (room // 2, room // 2)
    picture = picture[top : top + CROPPED, left : left + CROPPED]
    picture = picture[:, ::-1] if random and random.rand() < 0.5 else picture
    return picture.transpose(2, 0, 1) if backend.image_data_format() == "channels_first" else picture


def batches(pictures, size, random=None):
    order = random.permutation(len(pictures)) if random else range(len(pictures))
    for start in range(0, len(pictures), size):
        chosen = [pictures[number] for number in order[start : start + size]]
        x, y = [loaded(file, random) for _, file, _ in chosen], [labels for _, _, labels in chosen]
        yield np.stack(x), np.array(y, "float32")


def ahead(made, most=4):
    """The same, made by a thread up to so many ahead of what is used."""
    ready, end = queue.Queue(most), object()

    def make():
        try:
            for one in made:
                ready.put(one)
            ready.put(end)
        except Exception as error:  # of a file that cannot be read
            ready.put(error)

    threading.Thread(target=make, daemon=True).start()
    for one in iter(ready.get, end):
        if isinstance(one, Exception):
            raise one
        yield one


def area_under_curve(scores, labels):
    """The chance that one with the disease has a higher score than one without; None if either is missing."""
    order = np.argsort(scores, kind="mergesort")
    _values, at, counts = np.unique(scores[order], return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[at]
    positive = labels[order] > 0
    ill, well = positive.sum(), (~positive).sum()
    return (ranks[positive].sum() - ill * (ill + 1) / 2.0) / (ill * well) if ill and well else None


def scored(model, pictures, size):
    parts = [(model.predict_on_batch(x), y) for x, y in ahead(batches(pictures, size))]
    scores, labels = (np.concatenate([np.asarray(part[side]) for part in parts]) for side in (0, 1))
    areas = [area_under_curve(*columns) for columns in zip(scores.T, labels.T)]
    known = [area for area in areas if area is not None]
    return np.mean(known) if known else float("nan")


def trained_on(model, x, y):
    """The loss of this batch alone: Keras 3 would return the mean since its metrics were last reset."""
    if hasattr(model, "reset_metrics"):
        model.reset_metrics()
    return float(model.train_on_batch(x, y))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--batch-size", type=int, default=16, help="64 in the original, for each GPU")
    parser.add_argument("--epochs", type=int, default=5)
    given = parser.parse_args()
    train, validation, test = split(listed(given.folder))
    if not (train and validation and test):
        sys.exit("There are too few patients to split: at least seven are needed.")
    print("%d pictures to train, %d to validate and %d to test" % (len(train), len(validation), len(test)))
    first = backend.image_data_format() == "channels_first"
    model = build_model((3, CROPPED, CROPPED) if first else (CROPPED, CROPPED, 3))
    model.compile(loss="binary_crossentropy", optimizer=Adam(1e-4, beta_1=0.9, beta_2=0.999, epsilon=1e-7))
    for epoch in range(given.epochs):
        random = np.random.RandomState(epoch)
        losses = [trained_on(model, x, y) for x, y in ahead(batches(train, given.batch_size, random))]
        area = scored(model, validation, given.batch_size)
        print("epoch %d: loss %.4f, mean AUC of validation %.4f" % (epoch + 1, np.mean(losses), area))
    print("mean AUC of the test %.4f" % scored(model, test, given.batch_size))


if __name__ == "__main__":
    main()
