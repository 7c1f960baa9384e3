"""Learning curves against numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from fake_runs import cell, measured

from kbench.analysis.learning import learning_curves
from kbench.records.epochs import Epoch
from kbench.records.values import OK, Measured, Outcome


def test_seconds_add_up_and_count_epochs_without_the_metric_too() -> None:
    one = measured(cell(epochs=4), 1.0, 2.0, 4.0, 8.0, loss=[0.5, math.nan, math.inf, 0.25])
    curve = learning_curves.curve(one, "loss")
    assert curve.epochs.tolist() == [1, 4]
    assert curve.seconds.tolist() == [1.0, 15.0]
    assert curve.values.tolist() == [0.5, 0.25]
    assert learning_curves.has(one, "loss") and not learning_curves.has(one, "val_loss")
    assert not learning_curves.has(measured(cell(), 1.0, loss=math.nan), "loss")


def test_the_mean_is_over_the_epochs_that_all_repeats_have() -> None:
    def lost(*numbers: int, loss: float) -> learning_curves.Curve:
        epochs = tuple(Epoch(number, float(number), 9, loss=loss * number) for number in numbers)
        return learning_curves.curve(Measured(cell(), Outcome(OK), epochs), "loss")

    mean = learning_curves.mean([lost(1, 2, 3, loss=1.0), lost(1, 3, loss=3.0)])
    assert mean is not None and mean.spread is not None
    assert mean.epochs.tolist() == [1, 3]
    assert mean.seconds.tolist() == [1.0, (6.0 + 4.0) / 2]
    assert mean.values.tolist() == [2.0, 6.0]
    assert np.allclose(mean.spread, [math.sqrt(2), 3 * math.sqrt(2)])
    nothing = learning_curves.mean([lost(1, loss=1.0), lost(2, loss=1.0)])
    assert nothing is not None and nothing.epochs.size == 0


def test_one_repeat_has_no_spread_and_none_have_no_mean() -> None:
    curve = learning_curves.curve(measured(cell(), 1.0, 2.0, loss=0.5), "loss")
    mean = learning_curves.mean([curve])
    assert mean is not None and mean.spread is None and mean.values.tolist() == [0.5, 0.5]
    assert learning_curves.mean([]) is None


def test_the_means_seconds_are_those_of_the_repeats_that_compiled() -> None:
    compiled, loaded = (
        learning_curves.curve(
            replace(measured(cell(), *seconds, loss=loss), outcome=Outcome(OK, compilation_cached=cached)), "loss"
        )
        for seconds, loss, cached in (((9.0, 1.0), 2.0, False), ((3.0, 1.0), 4.0, True))
    )
    mean = learning_curves.mean([compiled, loaded])
    assert mean is not None and mean.seconds.tolist() == [9.0, 10.0] and mean.values.tolist() == [3.0, 3.0]
    alone = learning_curves.mean([loaded])
    assert alone is not None and alone.seconds.tolist() == [3.0, 4.0]


def test_losses_too_large_to_square_have_a_mean_and_raise_nothing() -> None:
    curves = [learning_curves.curve(measured(cell(), 1.0, loss=loss), "loss") for loss in (1e200, -1e300)]
    mean = learning_curves.mean(curves)
    assert mean is not None and mean.spread is not None
    assert np.isfinite(mean.values).all() and not np.isfinite(mean.spread).any()


def test_a_target_is_any_metric_in_either_direction() -> None:
    epochs = [
        Epoch(epoch=number, seconds=1.0, samples=8, loss=loss, metrics={"val_mae": mae})
        for number, loss, mae in ((1, 2.0, 4.0), (2, 1.0, 3.0), (3, 0.5, 2.0))
    ]
    assert learning_curves.to_target(epochs, "val_mae <= 3") == (2, 2.0)
    assert learning_curves.to_target(epochs, "loss <= 0.5") == (3, 3.0)
    assert learning_curves.to_target(epochs, "val_mae >= 3.5") == (1, 1.0)
    assert learning_curves.to_target(epochs, "val_rmse <= 9") == (math.inf, math.inf), "nobody measured that"


def test_a_validation_accuracy_that_does_not_rise_is_explained_by_its_few_samples() -> None:
    def said(*curves: list[float], samples: int = 50) -> str:
        return learning_curves.unrisen(
            [measured(cell(validation_samples=samples), 1.0, 1.0, val_accuracy=curve) for curve in curves]
        )

    assert said([0.3, 0.32]).startswith("The validation accuracy does not rise after the first of 3 epochs")
    assert said([0.3, 0.06], [0.3, 0.06]).startswith("The validation accuracy falls")
    assert said([0.3, 0.32], [0.3, 0.7]) == ""  # one backend learns
    assert said([0.3, 0.32], samples=100_000) == ""  # as many samples show even that
    assert said([0.3, 0.32], samples=0) == ""
    assert learning_curves.unrisen([measured(cell(), 1.0, val_accuracy=0.1)]) == ""
    assert learning_curves.unrisen([]) == ""
