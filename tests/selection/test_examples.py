"""An example is read without being run; what is wrong with it is one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_bench import EXAMPLE
from hypothesis import given
from hypothesis import strategies as st

from kbench.base import paths
from kbench.errors import UserError
from kbench.records.values import Profile
from kbench.selection import examples
from kbench.selection.examples import PROFILES

OWN = examples.load_all(paths.project_folder("examples_models"))
PUBLISHED = {
    "mnist_mlp": 669_706,
    "mnist_cnn": 1_199_882,
    "mnist_hrnn": None,
    "cifar10_cnn": 1_250_858,
    "babi_rnn": None,
    "imdb_gru": None,
    "resnet50_features": 23_587_712,
    "cifar10_vgg": 3_441_592,
    "fcn_s": 117_997_696,
    "fcn_r": 14_205_962,
    "alexnet_s": 62_378_344,
    "alexnet_r": 85_098,
    "lstm_ptb": 6_180_624,
    # Published are the trained weights, here are a mean and a variance of each batch normalisation, too.
    "resnet56": 853_018 + 2 * 2_032,
    "cifar10_resnet50": 23_520_842 + 53_120,
    "resnet50_train": 25_557_032 + 53_120,
    "densenet121_chestxray": 6_968_206 + 83_648,
    "imdb_gru_cudnn": 3_818_302,
}


def load(tmp_path: Path, text: str | bytes, name: str = "mine.py") -> examples.Example:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return examples.load(path)


def test_the_published_examples_are_there_with_their_published_sizes() -> None:
    for name, parameters in PUBLISHED.items():
        assert OWN[name].parameters == parameters or parameters is None
        assert OWN[name].task == ("infer" if name == "resnet50_features" else "train")


def test_each_example_has_all_profiles() -> None:
    assert {name: set(example.profiles) for name, example in OWN.items()} == {name: set(PROFILES) for name in OWN}


def test_a_profile_never_wants_more_than_the_next_larger_one() -> None:
    for example in OWN.values():
        smoke, quick, full = (example.profiles[name] for name in ("smoke", "quick", "full"))
        assert smoke.samples <= quick.samples <= full.samples
        assert example.batch_size <= smoke.samples


def test_constants_are_read_and_the_docstring_names_it(tmp_path: Path) -> None:
    example = load(tmp_path, EXAMPLE)
    assert (example.name, example.title) == ("mine", "Tells three patterns apart.")
    assert (example.task, example.input, example.batch_size, example.parameters) == ("train", "image", 8, 51)
    assert example.profiles["smoke"] == Profile(32, 2, 12)
    assert len(example.sha256) == 64


def test_a_target_accuracy_is_read_and_every_example_that_can_learn_states_one(tmp_path: Path) -> None:
    assert load(tmp_path, EXAMPLE).target == ""
    assert load(tmp_path, EXAMPLE + "\nTARGET_ACCURACY = 0.98\n").target == "val_accuracy >= 0.98"
    assert load(tmp_path, EXAMPLE + "\nTARGET_ACCURACY = 1\n").target == "val_accuracy >= 1"
    for example in OWN.values():
        nothing = "nothing to learn" in " ".join(example.path.read_text("utf-8").split())
        assert (example.target != "") == (example.task == "train" and not nothing), example.name


def test_only_core_examples_run_without_being_named_and_each_is_short_enough_to_read() -> None:
    core = {name for name, example in OWN.items() if example.core}
    assert {"mnist_mlp", "imdb_gru", "resnet50_features"} <= core and not {"fcn_s", "cifar10_vgg"} & core
    for name, example in OWN.items():
        assert name == "densenet121_chestxray" or len(example.path.read_text("utf-8").splitlines()) <= 100, name


def test_a_file_is_never_run(tmp_path: Path) -> None:
    load(tmp_path, EXAMPLE + "\nraise SystemExit(1)\n")


def test_a_profile_that_is_not_stated_is_the_full_one(tmp_path: Path) -> None:
    example = load(tmp_path, EXAMPLE)
    assert example.profiles["quick"] == example.profiles["full"] == Profile(48, 3, 12)


def test_the_users_data_lies_beside_the_example_unless_its_path_is_absolute(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    assert load(tmp_path, EXAMPLE, "models/a.py").data == str(tmp_path / "models" / "patterns.npz")
    above = EXAMPLE.replace("patterns.npz", "../x.npz")
    assert load(tmp_path, above, "models/a.py").data == str(tmp_path / "x.npz")
    assert load(tmp_path, EXAMPLE.replace("patterns.npz", "/data/x.npz")).data == "/data/x.npz"


def test_a_constant_may_have_a_type(tmp_path: Path) -> None:
    assert load(tmp_path, EXAMPLE + "\nBATCH_SIZE: int = 48\n").batch_size == 48
    assert load(tmp_path, EXAMPLE + "\nBATCH_SIZE: int\n").batch_size == load(tmp_path, EXAMPLE).batch_size


@pytest.mark.parametrize("name", [name for name in examples.READ if name not in examples.MAY_BE_CODE])
def test_a_constant_that_counts_is_never_left_out_because_it_is_computed(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match=f"mine.py computes its {name}: write the value itself"):
        load(tmp_path, EXAMPLE + f"\n{name} = 1 - max(0, 1)\n")
    assert load(tmp_path, EXAMPLE + "\nUNITS = max(2, 3)\n").name == "mine"


def test_without_a_docstring_the_title_is_the_files_name(tmp_path: Path) -> None:
    code = EXAMPLE.partition('"""\n')[2]
    assert load(tmp_path, code).title == "mine"
    assert load(tmp_path, '"""\n\x0c\n"""\n' + code).title == "mine"


def test_a_stated_encoding_counts(tmp_path: Path) -> None:
    text = "# -*- coding: latin-1 -*-\n" + EXAMPLE.replace("patterns apart", "M\xfcster")
    assert load(tmp_path, text.encode("latin-1")).title == "Tells three M\xfcster."


def test_the_style_of_a_file_is_not_commented_upon(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    load(tmp_path, EXAMPLE + '\nWORDS = "\\W+"\nSAME = 1 is 1\n')
    assert not recwarn.list


def test_files_with_an_underscore_in_front_are_no_examples(tmp_path: Path) -> None:
    load(tmp_path, EXAMPLE)
    (tmp_path / "_shared.py").write_text("no python")
    assert list(examples.load_all(tmp_path)) == ["mine"]


@given(st.one_of(st.binary(), st.text().map(lambda text: EXAMPLE.encode() + b"\n" + text.encode(errors="replace"))))
def test_any_bytes_are_an_example_or_one_sentence(tmp_path: Path, content: bytes) -> None:
    try:
        load(tmp_path, content)
    except UserError as error:
        assert str(error).startswith("The example mine.py ")


LITERALS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["full", "smoke", "samples", "epochs", "class_name", "learning_rate", "x"]), inner
        ),
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(
    [
        "DATA",
        "INPUT",
        "TASK",
        "BATCH_SIZE",
        "OPTIMIZER",
        "LOSS",
        "PARAMETERS",
        "PROFILES",
        "WEIGHTS",
        "TARGET_ACCURACY",
    ]
)


@given(NAMES, LITERALS)
def test_any_value_of_a_constant_is_accepted_or_one_sentence(tmp_path: Path, name: str, value: object) -> None:
    try:
        load(tmp_path, f"{EXAMPLE}\n{name} = {value!r}\n")
    except UserError as error:
        assert str(error).startswith("The example mine.py ")


def test_loss_metrics_and_optimizer_may_be_code(tmp_path: Path) -> None:
    code = EXAMPLE.replace('LOSS = "categorical_crossentropy"\n', "")
    with pytest.raises(UserError, match=r"mine\.py has no LOSS, which training needs"):
        load(tmp_path, code)
    assert load(tmp_path, code + "\ndef LOSS(y_true, y_pred):\n    return y_true - y_pred\n").name == "mine"
    assert load(tmp_path, code + "\nLOSS = [max, 'mse']\n").name == "mine"
    lines = [line for line in EXAMPLE.splitlines() if not line.startswith("OPTIMIZER")]
    assert load(tmp_path, "\n".join([*lines, "def OPTIMIZER():", "    return None", ""])).name == "mine"


def test_a_target_is_any_metric_and_a_direction(tmp_path: Path) -> None:
    assert load(tmp_path, EXAMPLE + "\nTARGET = 'val_mae <= 2.5'\n").target == "val_mae <= 2.5"
    with pytest.raises(UserError, match="needs TARGET as a metric, <= or >=, and a number, such as"):
        load(tmp_path, EXAMPLE + "\nTARGET = 'val_mae < 2.5'\n")
    with pytest.raises(UserError, match="has both TARGET and TARGET_ACCURACY"):
        load(tmp_path, EXAMPLE + "\nTARGET = 'loss <= 2'\nTARGET_ACCURACY = 0.5\n")
