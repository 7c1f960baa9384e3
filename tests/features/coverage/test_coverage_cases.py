"""Cases follow from signatures alone, and each has a program that Python can read."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kbench.features.coverage import arguments, cases, inputs
from kbench.features.coverage.events import Public
from kbench.features.coverage.program import ANY_SIZE, in_words, of_case
from kbench.features.coverage.values import CHECKS, DIFFERS, FIT, FORMATS, GRADIENTS, SYMBOLIC, CaseResult

CONVOLUTION = (
    ("filters", 1, None), ("kernel_size", 1, None), ("strides", 0, 1), ("padding", 0, "valid"),
    ("use_bias", 0, True), ("kernel_initializer", 0, "glorot_uniform"),
)  # fmt: skip
RECURRENT = (
    ("units", 1, None), ("return_sequences", 0, False), ("go_backwards", 0, False), ("seed", 0, None),
    ("kernel_initializer", 0, "glorot_uniform"),
)  # fmt: skip
PUBLIC = {
    "layers.Conv1D": Public("layers.Conv1D", CONVOLUTION, ("inputs",)),
    "layers.Conv2D": Public("layers.Conv2D", CONVOLUTION, ("inputs",)),
    "layers.LSTM": Public("layers.LSTM", RECURRENT, ("sequences",)),
    "layers.BatchNormalization": Public(
        "layers.BatchNormalization", (("momentum", 0, 0.99),), ("inputs",), ("training", "mask")
    ),
    "layers.Dropout": Public("layers.Dropout", (("rate", 1, None), ("seed", 0, None)), ("inputs",), ("training",)),
    "losses.Huber": Public("losses.Huber", (("delta", 0, 1.0),)),
    "layers.LSTMCell": Public("layers.LSTMCell", RECURRENT[:1], ("inputs", "states")),
    "layers.Bidirectional": Public("layers.Bidirectional", (("layer", 1, None),), ("inputs",)),
    "layers.Add": Public("layers.Add", (), ("inputs",)),
    "layers.RandomShear": Public(
        "layers.RandomShear",
        (("x_factor", 0, 0.0), ("fill_mode", 0, "reflect"), ("data_format", 0, None), ("seed", 0, None)),
        ("data",),
        ("training",),
    ),
    "layers.Normalization": Public("layers.Normalization", (("axis", 0, -1),), ("inputs",)),
    "layers.SimpleRNN": Public(
        "layers.SimpleRNN",
        (
            ("units", 1, None),
            ("bias_regularizer", 0, None),
            ("activity_regularizer", 0, None),
            ("bias_constraint", 0, None),
        ),
        ("x",),
    ),
    "metrics.R2Score": Public(
        "metrics.R2Score", (("class_aggregation", 0, "uniform_average"), ("num_regressors", 0, 0))
    ),
    "ops.image.resize": Public("ops.image.resize", (("images", 1, None), ("size", 1, None))),
    "layers.Lambda": Public("layers.Lambda", (("function", 1, None),), ("inputs",)),
    "layers.MultiHeadAttention": Public(
        "layers.MultiHeadAttention", (("num_heads", 1, None), ("key_dim", 1, None)), ("query", "value")
    ),
    "layers.TFSMLayer": Public("layers.TFSMLayer", (), ("inputs",)),
    "losses.hinge": Public("losses.hinge", (("y_true", 1, None), ("y_pred", 1, None))),
    "metrics.Hinge": Public("metrics.Hinge", (("name", 0, "hinge"),)),
    "optimizers.SGD": Public("optimizers.SGD", (("learning_rate", 0, 0.01), ("nesterov", 0, False))),
    "ops.add": Public("ops.add", (("x1", 1, None), ("x2", 1, None))),
    "ops.fori_loop": Public("ops.fori_loop", (("lower", 1, None), ("body_fun", 1, None))),
    "ops.unheard_of": Public("ops.unheard_of", (("x", 1, None), ("unheard_of", 1, None))),
    "ops.concatenate": Public("ops.concatenate", (("xs", 1, None), ("axis", 0, -1))),
    "ops.max": Public("ops.max", (("x", 1, None), ("axis", 0, None))),
    "random.normal": Public("random.normal", (("shape", 1, None), ("mean", 0, 0.0))),
    "initializers.HeNormal": Public("initializers.HeNormal", (("seed", 0, None),)),
    "regularizers.L2": Public("regularizers.L2", (("l2", 0, 0.01),)),
}
MADE = cases.make(PUBLIC)


def settings(name: str, **how: Any) -> list[str]:
    return [in_words(one) for one in made(name, **how)]


def made(name: str, **how: Any) -> list[cases.ProbeCase]:
    """Those that are to be taken, and called apart from `fit`."""
    return [one for one in cases.make(PUBLIC, name, **how) if not one.wrong and not one.fitted]


def test_a_name_is_tried_with_what_it_needs_and_with_each_setting_that_changes_its_result() -> None:
    needed = "layers.Conv1D(filters=4, kernel_size=3"
    found = settings("layers.Conv1D")
    assert found[:7] == [
        f"{needed})",
        "layers.Conv1D(filters=4, kernel_size=2)",
        f"{needed}, strides=2)",
        f"{needed}, padding='same', strides=2)",
        f"{needed}, padding='same')",
        f"{needed}, padding='causal')",
        f"{needed}, use_bias=False)",
    ]
    assert found[-6:] == [
        f"{needed}) behind a mask",
        f"{needed}) on a small sample",
        f"{needed}) in mixed_bfloat16",
        f"{needed}) in float16",
        f"{needed}) in float64",
        f"{needed}) on whole numbers",
    ]
    assert settings("optimizers.*") == [
        "optimizers.SGD()",
        "optimizers.SGD(learning_rate=0.037)",
        *[one for one in settings("optimizers.*") if "schedules" in one and "nesterov" not in one],
        "optimizers.SGD(nesterov=True)",
        *[one for one in settings("optimizers.*") if "schedules" in one and "nesterov" in one],
        "optimizers.SGD() on repeated gradients",
    ]


@pytest.mark.parametrize(
    ("default", "values"),
    [(1.0, [0.37, 1.9]), (0.0, [0.37, 0.83]), (0.01, [0.0037, 0.019]), (0.999, [0.99963, 0.9981]),
     (4, [3, 5]), (False, [True])],
)  # fmt: skip
def test_a_number_gets_two_generic_values_of_its_kind_and_a_flag_is_turned(default: Any, values: list[Any]) -> None:
    assert arguments.others("losses.Huber", "unheard_of", default) == [{"unheard_of": one} for one in values]


def test_what_is_none_by_default_and_words_are_given_and_what_acts_on_weights_at_once() -> None:
    values = arguments.others("metrics.R2Score", "class_aggregation", "uniform_average")
    assert [one["class_aggregation"] for one in values] == [None, "variance_weighted_average"]
    assert arguments.others("metrics.Recall", "class_id", None) == [{"class_id": 1}]
    found = [one for one in cases.make(PUBLIC, "layers.SimpleRNN") if len(one.settings) > 1]
    assert [{*one.settings} - {"units"} for one in found] == [
        {"activity_regularizer", "bias_regularizer"}, {"bias_constraint"}
    ]  # fmt: skip
    assert not any(one.outputs_only for one in found)


def test_a_metric_is_tried_on_labels_with_each_setting_and_scores_may_equal_a_threshold() -> None:
    found = [one.settings for one in cases.make(PUBLIC, "metrics.R2Score") if one.inputs == ("scores",)]
    assert {} in found and {"num_regressors": 39} in found and {"class_aggregation": None} in found
    names: dict[str, Any] = {"np": np}
    for lines in inputs.statements("scores"):
        exec("\n".join(lines), names)
    assert {*np.unique(names["x0"])} == {0, 1} and np.float32(0.5) in names["x1"]


def test_the_largest_scores_are_not_asked_for_where_some_are_equal() -> None:
    public = {"metrics.Recall": Public("metrics.Recall", (("top_k", 0, None), ("class_id", 0, None)))}
    settings: dict[bool, list[str]] = {True: [], False: []}  # on scores, of which some are equal, or on others
    for one in cases.make(public, "metrics.Recall"):
        settings[one.inputs == ("scores",)] += one.settings
    assert "class_id" in settings[True] and "top_k" in settings[False] and "top_k" not in settings[True]


def test_a_few_wrong_arguments_of_each_kind_are_to_be_refused_and_no_quick_run_tries_them() -> None:
    def wrong(name: str, *parameters: tuple[str, int, Any]) -> list[str]:
        about = Public(name, parameters, ("inputs",))
        assert not any(one.wrong for one in cases.make({name: about}, quick=True))
        return [one.wrong for one in cases.make({name: about}) if one.wrong]

    assert wrong("layers.Dense", ("units", 1, None)) == ["units=0", "an input of another rank"]
    assert wrong("layers.Conv2D", *CONVOLUTION) == ["padding='unknown'", "filters=0", "kernel_size=[2, 2, 2, 2]"]
    assert wrong("optimizers.SGD", ("clipnorm", 0, None), ("clipvalue", 0, None))[:1] == [
        "clipnorm=0.137 and clipvalue=0.037"
    ]
    assert wrong("layers.Add") == ["inputs of unequal lengths"]
    assert wrong("layers.Dropout", ("rate", 1, None))[1:] == ["rate=1.7"]
    assert wrong("ops.max", ("x", 1, None), ("axis", 0, None)) == ["axis=7"]
    assert wrong("random.normal", ("shape", 1, None), ("mean", 0, 0.0)) == []


def test_a_loss_and_a_metric_are_also_tried_in_fit_with_weights() -> None:
    for name, ways in (("losses.Huber", 2), ("metrics.Hinge", 1)):
        (one,) = (one for one in cases.make(PUBLIC, name) if one.fitted)
        program = of_case(CaseResult(one, "keras9/a", DIFFERS, inputs=one.inputs[0]), "torch")
        compile(program, "program", "exec")
        assert program.count("model.fit(") == ways and ("class_weight" in program) == (ways == 2)
    name = "metrics.MeanSquaredError"
    (_, masked) = (one for one in cases.make({name: Public(name, ())}) if one.fitted)
    assert in_words(masked) == "metrics.MeanSquaredError() in fit with weights behind a mask"
    assert "eye(Large()(inputs))" in of_case(
        CaseResult(masked, "keras9/a", DIFFERS, inputs="weighted steps"), "torch"
    )


def test_images_are_given_without_a_batch_and_as_bytes_and_to_layers_that_leave_nothing_to_chance() -> None:
    found = {one.inputs: one for one in cases.make(PUBLIC, "layers.RandomShear") if one.training and not one.random}
    assert {*found} == {("one image",), ("bytes",), ("colours",)}
    assert all([0.37, 0.37] in one.settings.values() for one in found.values() if one.inputs != ("colours",))
    assert [one.inputs for one in made("ops.image.resize")] == [
        ("colours",),
        ("colours",),
        ("one image",),
    ]


def test_a_layer_is_adapted_and_arrays_may_have_unequal_sizes() -> None:
    assert sum("layer.adapt" in one.code for one in cases.make(PUBLIC, "layers.Normalization")) == 8
    assert ("unequal parts", "broadcast sequences") in [one.inputs for one in cases.make(PUBLIC, "layers.Add")]
    for name in ("ops.add", "ops.concatenate"):
        assert inputs.UNEQUAL in [one.inputs for one in cases.make(PUBLIC, name)]


def test_a_rate_has_four_digits_and_a_tuple_unequal_entries() -> None:
    assert arguments.GIVEN["rate"] != round(arguments.GIVEN["rate"], 3)
    assert {"kernel_size": [2, 3]} in arguments.others("layers.Conv2D", "kernel_size", 3)
    assert {"strides": [2, 1, 3]} in arguments.others("layers.Conv3D", "strides", [1, 1, 1])


@pytest.mark.parametrize("count", [2, 3, 5, 8, 11])
def test_each_two_arguments_are_changed_together_and_each_without_the_other(count: int) -> None:
    names = [f"a{number}" for number in range(count)]
    found = [{*one} for one in arguments.pairs({name: [{name: 1}, {name: 2}] for name in names})]
    for one, other in itertools.combinations(names, 2):
        assert {(one in row, other in row) for row in found} >= {(True, True), (True, False), (False, True)}
    assert len(found) <= 2 * count


def test_of_settings_that_exclude_each_other_one_is_given() -> None:
    found = [*arguments.pairs({name: [{name: 2}] for name in ("strides", "dilation_rate", "use_bias")})]
    assert not any({"strides", "dilation_rate"} <= {*one} for one in found)


def test_an_argument_of_a_loss_is_also_tried_beyond_it_and_a_loss_with_weights_and_a_mask() -> None:
    found = [(in_words(one), one.inputs[0]) for one in cases.make(PUBLIC, "losses.Huber")]
    assert ("losses.Huber(delta=0.37)", "wide numbers") in found
    assert {"weighted probabilities", "masked predictions"} <= {of for _, of in found}


def test_layers_that_take_training_are_tried_so_and_what_they_draw_by_its_moments() -> None:
    (found,) = (one for one in cases.make(PUBLIC, "layers.Dropout") if one.training and not one.varies)
    assert found.random and found.inputs[0] == "many vectors" and found.settings == {"rate": 0.3142, "seed": 3}
    masked = [one for one in cases.make(PUBLIC, "layers.BatchNormalization") if one.training and one.masked]
    assert masked and not any(one.random for one in masked)


def test_layers_that_take_training_are_tried_with_and_without_it_and_axes_of_what_they_draw_may_change() -> None:
    (untrained,) = (one for one in cases.make(PUBLIC, "layers.Dropout") if one.inference)
    assert in_words(untrained).endswith("with training=False") and untrained.draws and not untrained.training
    program = of_case(CaseResult(untrained, "keras3/torch", DIFFERS), "torch")
    assert "layer(x0, training=False)" in program
    spatial = Public(
        "layers.SpatialDropout3D",
        (("rate", 1, None), ("data_format", 0, None), ("seed", 0, None)),
        ("inputs",),
        ("training",),
    )
    drawn = [one.settings for one in cases.make({spatial.name: spatial}) if one.random]
    assert {"rate": 0.3142, "seed": 3, "data_format": "channels_first"} in drawn


def test_inputs_of_layers_have_sizes_that_differ_and_settings_have_others_or_equal_one_on_purpose() -> None:
    for name in ("image", "sequence", "vectors", "volume"):
        (shape,) = (shape for _, shape in inputs.INPUTS[name])
        assert len({*shape}) == len(shape)
        given = {arguments.GIVEN[one] for one in ("units", "num_heads", "key_dim")}
        assert name in ("vectors", "volume") or not given & {*shape}
    (none_over, *_) = (
        one for one in arguments.others("layers.IntegerLookup", "num_oov_indices", 1) if one["num_oov_indices"] == 0
    )
    assert {*none_over["vocabulary"]} == {*range(4)}


def test_an_axis_is_tried_where_both_are_not_alike() -> None:
    assert cases.make(PUBLIC, "ops.max")[0].inputs[0] == "sequence"


def test_an_activation_gets_negative_numbers_too() -> None:
    elu = Public("activations.elu", (("x", 1, None), ("alpha", 0, 1.0)))
    (first, *_) = draw(cases.make({"activations.elu": elu})[0].inputs[0])
    assert (first < 0).sum() >= 3 <= (first > 0).sum()


def test_gradients_of_layers_without_weights_are_looked_at_where_they_are_not_unique() -> None:
    assert "layers.Add() on ties" in settings("layers.Add")
    (tied,) = (one for one in cases.make(PUBLIC, "layers.Add") if in_words(one).endswith("ties"))
    assert not tied.outputs_only
    assert tied.inputs[-1] == "tied two vectors"
    for trained_or_drawing in ("layers.Conv1D", "layers.LSTM", "layers.Dropout"):
        assert not any("ties" in one for one in settings(trained_or_drawing))


def test_the_program_of_an_optimizer_on_repeated_rows_trains_an_embedding() -> None:
    (case,) = (one for one in cases.make(PUBLIC, "optimizers.SGD") if one.inputs == (inputs.REPEATED,))
    program = of_case(CaseResult(case, "keras3/torch", DIFFERS, inputs=inputs.REPEATED), "torch")
    assert "keras.layers.Embedding(4, 2, input_shape=(3,))" in program
    assert "x0 = np.random.RandomState(0).randint(0, 4, (10, 5, 3)).astype('int32')" in program


def test_functions_are_tried_on_what_their_kind_is_sensitive_to() -> None:
    assert settings("ops.add") == [
        "ops.add()",
        "ops.add() on two edges",
        "ops.add() on unequal columns",
        "ops.add() on two stacks",
    ]
    assert settings("ops.max")[1:] == [
        "ops.max(axis=1)",
        "ops.max(axis=(-1, -2))",
        "ops.max(axis=0)",
        "ops.max() on ties",
        "ops.max() on edges",
        "ops.max(axis=1) on a size of one",
        "ops.max(axis=1) on an empty axis",
    ]
    assert "losses.hinge() on certain" in settings("losses.hinge")


def test_layers_of_images_get_no_vectors() -> None:
    plain = (("value_range", 0, (0, 255)), ("seed", 0, None))
    layers = [Public("layers.AutoContrast", plain, ("inputs",)), Public("layers.ReLU", (), ("inputs",))]
    edges = [one.name for one in cases.make({one.name: one for one in layers}) if "edges of vectors" in one.inputs]
    assert edges == ["layers.ReLU"]


def test_a_setting_that_a_class_does_not_know_is_not_tried() -> None:
    assert not any("causal" in one for one in settings("layers.Conv2D"))


def test_a_sequence_is_also_tried_behind_a_mask_also_backwards() -> None:
    masked = [one for one in settings("layers.LSTM") if "mask" in one]
    assert masked == [
        "layers.LSTM(units=4) behind a mask",
        "layers.LSTM(units=4) behind a mask",
        "layers.LSTM(units=4, return_sequences=True, go_backwards=True) behind a mask",
    ]
    assert settings("layers.Bidirectional")[0].startswith("layers.Bidirectional(layer=LSTM(4,")


def test_quick_tries_a_few_cases_of_each_name_and_numbers_are_those_of_the_list() -> None:
    made = cases.make(PUBLIC, quick=True)
    assert len({one.name for one in made}) == len(PUBLIC) - 2 and all(one.outputs_only for one in made)
    for found in (made, MADE):
        assert [one.id for one in found] == list(range(len(found)))
    plain, with_settings, masked = (in_words(one) for one in made if one.name == "layers.Conv1D")
    assert plain == "layers.Conv1D(filters=4, kernel_size=3)" and masked == f"{plain} behind a mask"
    assert "strides=2" in with_settings and "use_bias=False" in with_settings
    assert "scores" in [one.inputs[0] for one in made if one.name == "metrics.R2Score"]
    assert len([one for one in made if one.name == "losses.hinge"]) == 1


def test_what_needs_something_unknown_has_no_case_and_neither_has_what_kbench_says_why() -> None:
    assert settings("ops.unheard_of,layers.TFSMLayer") == []
    assert "layers.TFSMLayer" in cases.WITHOUT


def test_only_mean_and_deviation_of_what_is_random_are_compared() -> None:
    assert {one.name for one in MADE if one.random} - {"layers.Dropout", "layers.RandomShear"} == {
        "random.normal",
        "initializers.HeNormal",
    }
    assert all(one.training for one in MADE if one.random and one.name == "layers.Dropout")


def test_what_may_draw_without_being_trained_is_computed_twice() -> None:
    assert {one.name for one in MADE if one.draws} == {
        "layers.Dropout",
        "layers.RandomShear",
        "initializers.HeNormal",
    }


def draw(name: str, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    names: dict[str, Any] = {"np": np}
    for text in inputs.all_statements(seed)[name]:
        exec(text, names)  # as a guest does
    return [value for key, value in names.items() if key.startswith("x")]


@pytest.mark.parametrize("name", inputs.INPUTS)
def test_the_statements_of_an_input_draw_arrays_of_its_shapes_and_a_seed_others(name: str) -> None:
    first, second = draw(name), draw(name, seed=1)
    assert [one.shape for one in first] == [shape for _, shape in inputs.INPUTS[name]]
    assert all(one.dtype.kind != "f" or one.dtype == np.float32 for one in first)
    pairs = zip(first, second, strict=True)
    moved = any(one.size > 1 and not np.array_equal(one[one == one], other[other == other]) for one, other in pairs)
    assert moved != (all(one.size < 2 for one in first) or "edges" in name)


def test_a_seed_moves_weights_too() -> None:
    (case,) = cases.make(PUBLIC, "layers.LSTMCell", quick=True, seed=2)
    program = of_case(CaseResult(case, "keras9/fake", DIFFERS), "fake")
    assert "RandomState(2000)" in program and "RandomState(2000 + n)" in program


@pytest.mark.parametrize("case", MADE, ids=in_words)
def test_each_case_has_a_program_and_inputs(case: cases.ProbeCase) -> None:
    assert case.inputs and {*case.inputs} <= {*inputs.INPUTS}
    for name in case.inputs:
        for backend in ("keras9/fake", "keras2/fake"):
            program = of_case(CaseResult(case, backend, DIFFERS, inputs=name), "fake")
            compile(program, "program.py", "exec")
            assert f"keras.{case.name}(" in program
            for check in CHECKS:
                program = of_case(CaseResult(case, backend, DIFFERS, inputs=name, check=check), "fake")
                compile(program, "program.py", "exec")
                if case.name.startswith("layers."):
                    assert "train_on_batch" in program or check not in (GRADIENTS, FIT)
                if case.name.startswith(("layers.", "optimizers.")):
                    assert "save" in program or check not in FORMATS


def test_functions_of_two_arrays_get_each_edge_with_each_and_arrays_of_matrices() -> None:
    edges = draw("two edges")
    pairs = {(str(one), str(other)) for one, other in zip(*edges, strict=True)}
    assert {("inf", "-inf"), ("-inf", "-inf"), ("nan", "inf"), ("-0.0", "0.0")} <= pairs
    one, other = draw(inputs.STACKS[0])
    assert np.matmul(one, other).shape != np.dot(one, other).shape and one.ndim == 3
    assert inputs.STACKS in [case.inputs for case in cases.make(PUBLIC, "ops.add")]


def test_axes_may_be_several_and_what_pairs_change_is_still_one() -> None:
    found = arguments.others("ops.max", "axis", None)
    assert found == [{"axis": 1}, {"axis": [-1, -2]}, {"axis": 0}]
    of_layers = arguments.others("layers.RMSNormalization", "axis", -1)
    assert of_layers == [{"axis": 1}, {"axis": {"python": "[-1, -2]"}}, {"axis": 0}], "which may take a list alone"
    assert arguments.others("losses.CosineSimilarity", "axis", -1) == [{"axis": 1}, {"axis": 0}]
    assert arguments.others("ops.quantile", "q", 0.37)[1] == {"q": [0.2, 0.83]}
    assert arguments.others("ops.diagonal", "offset", 0) == [{"offset": 1}, {"offset": -1}]


def test_the_program_of_a_shape_that_is_wrong_for_a_first_axis_of_any_size_has_none() -> None:
    add, words = cases.make(PUBLIC, "ops.add")[0], cases.make(PUBLIC, "layers.Add")[0]
    wrong = CaseResult(add, "keras3/torch", DIFFERS, sentence="(3,) instead of (3, 3)", check=SYMBOLIC, inputs="ties")
    assert "KerasTensor(x0.shape, x0.dtype.name)" in of_case(wrong, "torch")
    any_size = replace(wrong, sentence=f"{wrong.sentence}{ANY_SIZE}")
    assert "KerasTensor((None, *x0.shape[1:]), x0.dtype.name)" in of_case(any_size, "torch")
    of_words = replace(wrong, case=words, inputs="layers.StringLookup")
    assert 'KerasTensor(x0.shape, "string")' in of_case(of_words, "torch")
