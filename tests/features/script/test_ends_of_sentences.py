"""How a program's lines train otherwise is told once, another network before all else."""

from __future__ import annotations

from dataclasses import replace

from kbench.features.script.told.finding_sentences import ends, is_of_training
from kbench.records.findings import Finding
from kbench.words import sentences

LAYERS = [{"class": "Dense", "settings": {"units": units}, "weights": []} for units in (4, 8)]


def test_the_same_difference_of_several_repeats_is_told_once_and_another_network_first() -> None:
    size = Finding(kind="aspect", aspect="number of parameters", reference="a/x", own=5, other=9)
    model = Finding(
        kind="aspect", aspect="model", reference="a/x", own=LAYERS[0], other=LAYERS[1], about={"layer": 1}
    )
    cores = Finding(kind="cores", own=1, other=2, about={"epoch": 2})
    network = "unlike a/x in its model: layer 1, Dense, has units 4 instead of 8"
    found = [size, model, replace(model, reference="a/y"), cores]
    assert sentences.all_of(found) == (
        "unlike a/x in its number of parameters: 5 instead of 9",
        network,
        "its number of cores was changed in epoch 2: 1 instead of 2",
    )
    own, other = ({"learning_rate": rate, "epsilon": 1e-7} for rate in (0.1, 0.2))
    rate = Finding(kind="aspect", aspect="optimizer", reference="a/x", own=own, other=other)
    assert ends([*found, rate]) == (
        f"is {network}, so it is not compared",
        "is unlike a/x in its optimizer: learning_rate 0.1 instead of 0.2",
    )
    epsilon = replace(rate, other={**own, "epsilon": 1e-8})
    assert ends([model, epsilon], "b/y") == (), "another generation of Keras has other defaults"
    assert ends([model, epsilon], "a/y@1.2+keras=3.6") == (), "so may another version"
    assert ends([model, epsilon], "a/y") == (
        f"is {network}",
        "is unlike a/x in its optimizer: epsilon 1e-07 instead of 1e-08",
    )
    assert ends([size, model], "a/y") == (f"is {network}, so it is not compared",)


def test_another_number_of_samples_is_another_training_and_that_of_validation_is_not() -> None:
    of_training, of_validation = (
        Finding(kind="aspect", aspect=f"number of {what}", reference="a/x", own=100, other=96)
        for what in ("samples", "validation samples")
    )
    assert is_of_training(of_training) and not is_of_training(of_validation)
