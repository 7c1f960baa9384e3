"""Backends in other versions and settings: what their names mean, and what is no such name."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbench.base import paths
from kbench.errors import UserError
from kbench.records import axes
from kbench.records.values import base
from kbench.selection import backends, names, variants

KNOWN = backends.load_all(paths.project_folder("backends"))


def test_a_version_is_another_requirement_without_a_lock() -> None:
    made = variants.parse_name("jax@0.9", KNOWN["keras3/jax"])
    assert made.name == "keras3/jax@0.9" and made.keras_backend == KNOWN["keras3/jax"].keras_backend
    by_name = {build.name: build for build in made.builds}
    keras = next(one for one in KNOWN["keras3/jax"].builds[0].requirements if one.startswith("keras"))
    assert by_name["cpu"].requirements == (keras, "jax==0.9.*")
    assert by_name["cuda13"].requirements == (keras, "jax[cuda13]==0.9.*"), "extras stay"
    assert all(one.lock is None and one.resolved and not one.locked_variables for one in made.builds)
    other_keras = variants.parse_name("jax+keras=3.10", KNOWN["keras3/jax"]).builds[0]
    assert other_keras.locked_variables == KNOWN["keras3/jax"].builds[0].locked_variables, "the same framework"
    exact = variants.parse_name("jax@0.9.1", KNOWN["keras3/jax"]).builds[0]
    assert exact.requirements[1] == "jax==0.9.1"


def test_the_package_of_a_build_may_have_another_name_and_so_may_keras() -> None:
    made = variants.parse_name("tensorflow@2.18", KNOWN["keras3/tensorflow"])
    assert {one.requirements[-1] for one in made.builds} >= {"tensorflow-cpu==2.18.*", "tensorflow[and-cuda]==2.18.*"}
    fork = variants.parse_name("mxnet+keras=2.2.4", KNOWN["keras2/mxnet"]).builds[0]
    assert "keras-mxnet==2.2.4" in fork.requirements


def test_a_framework_that_has_keras_of_its_own_version_brings_it_along() -> None:
    backend = KNOWN["keras2/tensorflow2"]
    of_its_time = variants.parse_name("tensorflow2@2.15", backend)
    assert of_its_time.builds[0].requirements == ("keras==2.15.*", "numpy<2", "tensorflow-cpu==2.15.*")
    assert of_its_time.python == ("3.11",)
    exact = variants.parse_name("tensorflow2@2.11.1", backend)
    assert exact.builds[0].requirements == ("keras==2.11.*", "numpy<1.24", "tensorflow-cpu==2.11.1")
    assert "3.11" not in exact.python, "which it has no packages for"
    newer = variants.parse_name("tensorflow2@2.18", backend)
    assert newer.builds[0].requirements == ("tf-keras==2.18.*", "tensorflow-cpu==2.18.*")
    assert newer.python == backend.python and newer.builds[0].leave_out == ("tensorflow",)
    assert variants.keras_of(newer) == "tf-keras" and variants.keras_of(exact) == "keras"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("tensorflow2@2.4", "kbench runs keras2/tensorflow2 from @2.11 on, and 2.4 is older."),
        (
            "tensorflow2+keras=2.15",
            "The Keras of keras2/tensorflow2 has the version of its framework: write keras2/tensorflow2@2.15.",
        ),
    ],
)
def test_a_release_without_its_keras_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(UserError) as error:
        variants.parse_name(text, KNOWN["keras2/tensorflow2"])
    assert str(error.value) == sentence


def test_settings_are_said_in_the_name_and_add_up() -> None:
    made = variants.parse_name("jax+jit=off+policy=mixed_bfloat16+OMP_NUM_THREADS=1", KNOWN["keras3/jax"])
    assert (made.jit, made.policy) == ("off", "mixed_bfloat16")
    assert made.variables["OMP_NUM_THREADS"] == "1"
    assert made.builds[0].locked_variables["OMP_NUM_THREADS"] == "1", "it wins over the build's own"
    assert made.builds[0].lock == KNOWN["keras3/jax"].builds[0].lock, "the same environment"
    assert variants.parse_name(made.name, KNOWN["keras3/jax"]) == made
    assert made.color != KNOWN["keras3/jax"].color and len(made.color) == 7


def test_groups_take_them_and_a_bare_name_finds_its_generation() -> None:
    chosen = names.select_backends("tensorflow+jit=on,jax", KNOWN)
    assert [one.name for one in chosen.chosen] == ["keras3/tensorflow+jit=on", "keras3/jax"]
    assert chosen.named == {"keras3/tensorflow+jit=on", "keras3/jax"}
    group = names.select_backends("keras3+jit=off", KNOWN)
    assert [one.name for one in group.chosen] == [f"{name}+jit=off" for name in KNOWN if name.startswith("keras3/")]
    assert not group.named
    untuned = names.select_backends("keras3+settings=default", KNOWN)
    both = {"keras3/jax+settings=default", "keras3/openvino"}
    assert both <= {one.name for one in untuned.chosen}, "one of which has no variables that make it faster"


def test_settings_default_leaves_out_what_only_makes_a_backend_faster() -> None:
    jax, torch, theano = (KNOWN[f"{name}"] for name in ("keras3/jax", "keras3/torch", "keras2/theano"))
    made = variants.parse_name("jax+settings=default", jax)
    assert "XLA_FLAGS" in jax.builds[0].locked_variables and made.builds[0].locked_variables == {}
    assert made.variables == jax.variables and made.builds[0].variables == jax.builds[0].variables
    gone = (
        torch.builds[0].variables.keys()
        - variants.parse_name("torch+settings=default", torch).builds[0].variables.keys()
    )
    assert gone == {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_MAX_"}
    as_it_comes = variants.parse_name("theano+settings=default", theano).builds[0]
    assert "openmp" not in as_it_comes.variables["THEANO_FLAGS"], "but its compiled code stays where kbench keeps it"
    assert theano.builds[0].locked_variables.keys() >= {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_MAX_"}
    assert as_it_comes.locked_variables.keys() == {"LD_LIBRARY_PATH"}


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ("openvino+settings=default", "sets no variables that make keras3/openvino faster: leave"),
        ("jax+settings=slow", "'settings=slow' is not a setting"),
        ("jax@", "keras3/jax@ lacks a version, such as 0.9"),
        ("jax@newest", "'newest' is neither a version"),
        ("jax+", "does not say which version or setting"),
        ("jax+jit", "'jit' is not a setting: use jit=on"),
        ("jax+jit=yes", "'jit=yes' is not a setting"),
        ("jax+policy=float8", "'policy=float8' is not a setting"),
        ("jax+KERAS_BACKEND=torch", "'KERAS_BACKEND=torch' is not a setting"),
        ("jax+XLA_FLAGS=--a --b", "the value may have only letters"),
        ("jax@\u0660", "is neither a version"),
        ("nobody@1", "There is no backend 'nobody'"),
    ],
)
def test_what_is_no_variant_is_one_sentence(item: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        names.select_backends(item, KNOWN)
    assert words in str(caught.value) and len(str(caught.value).splitlines()) == 1


VERSION = st.from_regex(r"[0-9]{1,2}(\.[0-9]{1,3}){0,2}(rc[0-9])?", fullmatch=True)
SETTINGS = {
    "@": VERSION,
    "+keras=": VERSION,
    "+jit=": st.sampled_from(["on", "off"]),
    "+policy=": st.sampled_from(["float16", "mixed_float16", "bfloat16", "float64"]),
    "+XLA_FLAGS=": st.from_regex(r"[\w.:/=-]{0,9}", fullmatch=True),
}
CHOSEN = st.fixed_dictionaries({}, optional=SETTINGS)


@given(st.sampled_from(["keras3/jax", "keras3/torch", "keras2/theano"]), CHOSEN)
def test_a_label_names_one_variant_whose_name_is_that_label(backend: str, chosen: dict[str, str]) -> None:
    label = backend + "".join(sorted(map("".join, chosen.items()), key=lambda part: part[0] != "@"))
    made = variants.parse_name(label, KNOWN[backend])
    assert made.name == label
    assert variants.parse_name(made.name, KNOWN[backend]) == made
    assert base(label) == backend


@given(CHOSEN, st.randoms(use_true_random=False))
def test_the_point_of_a_label_is_the_same_in_whatever_order_of_settings(
    chosen: dict[str, str], random: Random
) -> None:
    version = "".join(f"@{value}" for name, value in chosen.items() if name == "@")
    parts = [name + value for name, value in chosen.items() if name != "@"]
    found = axes.of_name(f"keras3/jax{version}" + "".join(parts))
    assert found == axes.of_name(f"keras3/jax{version}" + "".join(random.sample(parts, len(parts))))
    said = {"@": "version", "+XLA_FLAGS=": "variable"}
    assert found == {
        "backend": "keras3/jax",
        **{
            said.get(name, name.strip("+=")): (name[1:] if name in said else "") + value
            for name, value in chosen.items()
        },
    }


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("--mask", "--mask"),
        ("--mixed  mixed_float16", "--mixed=mixed_float16"),
        ("--a --b -c 1 --d 2 3", "--a_--b_-c_1_--d=2_3"),
        ("--a=1 'b c+d@e'", "--a=1_b_c_d_e"),
    ],
)
def test_a_program_s_further_arguments_are_part_of_the_row_s_name(given: str, named: str) -> None:
    assert variants.named_arguments(given) == named
    known = backends.load_all(paths.project_folder("backends"))["keras3/jax"]
    made = variants.parse_name(f"keras3/jax+args={named}", known)
    assert made.arguments == named and made.name == f"keras3/jax+args={named}"
    assert axes.of_name(made.name)["args"] == named and axes.of_name(made.name)["backend"] == "keras3/jax"
