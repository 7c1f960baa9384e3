"""From the names that the user types to backends and examples."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_bench import EXAMPLE
from hypothesis import given
from hypothesis import strategies as st

from kbench.base import paths
from kbench.errors import UserError
from kbench.selection import backends, examples
from kbench.selection import names as selection

BACKENDS = backends.load_all(paths.project_folder("backends"))
EXAMPLES = examples.load_all(paths.project_folder("examples_models"))
KERAS2 = [name for name in BACKENDS if name.startswith("keras2/")]
KERAS3 = [name for name in BACKENDS if name.startswith("keras3/")]


def names(text: str) -> list[str]:
    return [backend.name for backend in selection.select_backends(text, BACKENDS).chosen]


def named(text: str) -> set[str]:
    return set(selection.select_backends(text, BACKENDS).named)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cntk", ["keras2/cntk"]),
        ("jax", ["keras3/jax"]),
        ("tensorflow", ["keras3/tensorflow"]),
        ("keras2/tensorflow", ["keras2/tensorflow"]),
        ("tensorflow,cntk,theano", ["keras2/tensorflow", "keras2/cntk", "keras2/theano"]),
        ("theano,tensorflow", ["keras2/theano", "keras2/tensorflow"]),
        ("tensorflow,jax", ["keras3/tensorflow", "keras3/jax"]),
        ("tensorflow,keras2/cntk", ["keras2/tensorflow", "keras2/cntk"]),
        ("keras2/tensorflow,keras3/tensorflow", ["keras2/tensorflow", "keras3/tensorflow"]),
        ("tensorflow2", ["keras2/tensorflow2"]),
        ("tensorflow2,keras3/tensorflow", ["keras2/tensorflow2", "keras3/tensorflow"]),
        ("keras2", KERAS2),
        ("keras3", KERAS3),
        ("all", KERAS2 + KERAS3),
        ("keras3,tensorflow", KERAS3),
        (" jax , torch ,", ["keras3/jax", "keras3/torch"]),
        ("torch,jax,torch", ["keras3/torch", "keras3/jax"]),
    ],
)
def test_a_list_means_these_backends_in_this_order(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_the_newest_generation_has_the_highest_number(tmp_path: Path) -> None:
    from fake_backends import write_backend

    old = write_backend(tmp_path)
    for generation in ("keras2", "keras10"):
        folder = tmp_path / generation
        folder.mkdir()
        for file in old.parent.iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
    known = backends.load_all(tmp_path)
    assert list(known) == ["keras2/tiny", "keras9/tiny", "keras10/tiny"]
    (chosen,) = selection.select_backends("tiny", known).chosen
    assert chosen.name == "keras10/tiny"


@pytest.mark.parametrize("text", ["tensorflow,cntk,jax", "jax,keras2,tensorflow", "keras2,keras3,tensorflow"])
def test_tensorflow_beside_both_generations_is_an_error_that_says_what_to_type(text: str) -> None:
    with pytest.raises(UserError) as error:
        names(text)
    expected = "'tensorflow' could be keras2/tensorflow or keras3/tensorflow, as the others are of both generations"
    assert str(error.value) == f"{expected}: type the full name."


def test_what_a_group_brought_was_not_named() -> None:
    assert named("all") == set()
    assert named("keras2,jax") == {"keras3/jax"}
    assert named("all,theano") == {"keras2/theano"}


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("thano", "theano"),
        ("keras2/cnkt", "keras2/cntk"),
        ("TORCH", "torch"),
        ("pytorch", "torch"),
        ("keras4", "keras3"),
    ],
)
def test_an_unknown_backend_is_answered_with_the_nearest(text: str, nearest: str) -> None:
    with pytest.raises(UserError) as error:
        names(text)
    assert str(error.value).startswith(f"There is no backend {text!r}: did you mean ")
    assert nearest in str(error.value) or nearest == "keras3"


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("keras2/cntk", KERAS2, "keras2/cntk"),
        ("cntk", KERAS2, "keras2/cntk"),
        (" tensorflow ", KERAS2, "keras2/tensorflow"),
        ("tensorflow", KERAS3, "keras3/tensorflow"),
    ],
)
def test_a_baseline_is_one_of_the_runs_backends_in_full_or_bare(text: str, names: list[str], expected: str) -> None:
    assert selection.select_baseline(text, names) == expected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "tensorflow",
            "--baseline 'tensorflow' could be keras2/tensorflow or keras3/tensorflow: type the full name.",
        ),
        ("thaeno", "--baseline 'thaeno' is not one of the run's backends: did you mean theano?"),
        ("qqqq", f"--baseline 'qqqq' is not one of the run's backends: choose from {', '.join(KERAS2 + KERAS3)}."),
    ],
)
def test_any_other_baseline_is_answered_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UserError) as error:
        selection.select_baseline(text, KERAS2 + KERAS3)
    assert str(error.value) == sentence
    for several in ("", "all", "keras2", "cntk,theano"):
        with pytest.raises(UserError, match="is not one of the run's backends"):
            selection.select_baseline(several, KERAS2 + KERAS3)


def test_examples_are_chosen_by_name_by_file_or_all(tmp_path: Path) -> None:
    own = tmp_path / "mine.py"
    own.write_text(EXAMPLE)
    found = selection.select_examples(f"{own},mnist_cnn,mnist_cnn", EXAMPLES)
    assert [example.name for example in found.chosen] == ["mine", "mnist_cnn"]
    assert found.named == {"mine", "mnist_cnn"}
    everything = selection.select_examples("all", EXAMPLES)
    names = [example.name for example in everything.chosen]
    assert sorted(names) == sorted(EXAMPLES)
    core = [example.name for example in selection.select_examples("core", EXAMPLES).chosen]
    assert core == [name for name in names if EXAMPLES[name].core]
    assert core[:2] == ["mnist_mlp", "mnist_cnn"]  # the cheapest first
    assert set(core[-3:]) == {"babi_rnn", "imdb_gru", "mnist_hrnn"} and "fcn_s" in set(names) - set(core)
    assert everything.named == frozenset()


def test_kbenchs_own_example_may_be_named_by_its_file() -> None:
    path = EXAMPLES["mnist_cnn"].path
    assert selection.select_examples(str(path), EXAMPLES).chosen == (EXAMPLES["mnist_cnn"],)


WORDS = [*BACKENDS, *(name.partition("/")[2] for name in BACKENDS), "all", "keras2", "keras3", "", " ", "/", "~"]


@given(st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=12)), max_size=5).map(",".join))
def test_any_text_is_a_list_of_backends_or_one_sentence(text: str) -> None:
    try:
        chosen = selection.select_backends(text, BACKENDS)
    except UserError as error:
        assert str(error).endswith((".", "?"))
    else:
        assert chosen.chosen and len(set(names(text))) == len(chosen.chosen)
        assert chosen.named <= {backend.name for backend in chosen.chosen}


@given(
    st.one_of(
        st.text(),
        st.text().map(lambda text: f"{text}.py"),
        st.sampled_from(["~x/y.py", "\0.py", "\0/0", "..py", "x" * 300 + ".py"]),
    )
)
def test_any_text_is_a_list_of_examples_or_one_sentence(text: str) -> None:
    try:
        assert selection.select_examples(text, EXAMPLES).chosen
    except UserError as error:
        assert str(error).endswith((".", "?"))


def test_exports_are_named_in_full_or_by_their_group_and_take_no_setting_of_keras() -> None:
    exports = [name for name in BACKENDS if name.startswith("export/")]
    assert exports
    assert names("export") == exports
    assert not {*exports} & {*names("all")}
    assert names("openvino") == ["keras3/openvino"]
    assert names(f"tensorflow,{exports[0]}") == ["keras3/tensorflow", exports[0]]
    with pytest.raises(UserError, match=r"runs the exported model, so \+jit=on does not apply"):
        names(f"{exports[0]}+jit=on")
