"""Wrong input: one sentence on stderr, exit status 2, and nothing left behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fake_bench import EXAMPLE, Bench, refused
from fake_runs import cell, fake_run
from hypothesis import given
from hypothesis import strategies as st

from kbench.cli import main
from kbench.records.values import OK, Outcome

RUN = ("--backends", "fake", "--examples", "my_example.py", "--profile", "smoke", "--device", "cpu")


SCRIPT = ("script", "my_example.py", "--backends", "fake", "--device", "cpu")


def check(bench: Bench, arguments: tuple[str, ...], *words: str) -> None:
    """The command is refused in one sentence with these words."""
    before = sorted(bench.folder.rglob("*"))
    refused(bench(*arguments), *words)
    assert sorted(bench.folder.rglob("*")) == before


NAMES = [
    ((), "Name the backends", "--help"),
    (("run",), "required: --backends"),
    (("qqq",), "no command 'qqq': choose from run, script, new, resume, list, setup, report"),
    (("help", "rnu"), "no command 'rnu': did you mean run?"),
    (("",), "no command ''"),
    (("run", "fake"), "Unrecognized arguments: fake", "`--backends fake`"),
    ((*RUN, "extra"), "Unrecognized arguments: extra"),
    (("--backends",), "needs a value"),
    (("--backends", "fakke"), "no backend 'fakke'", "did you mean fake"),
    (("--backends", "keras2/tenserflow"), "did you mean keras2/tensorflow"),
    (("--backends", "Theano"), "did you mean theano"),
    (("--backends", "qqqq"), "no backend 'qqqq': choose from", "keras2/cntk"),
    (("--backends", "a\nb"), "no backend 'a\\nb'"),
    (("--backends", ""), "--backends is empty"),
    (("--backends", "tensorflow,cntk,jax"), "'tensorflow' could be keras2/tensorflow or keras3/tensorflow"),
    (("--backends", "fake", "--examples", ""), "--examples is empty"),
    (("--backends", "fake", "--examples", "mnist_mlp", "--augment"), "none of the chosen examples"),
    (("--backends", "fake", "--examples", "mnist_cn"), "no example 'mnist_cn'", "did you mean mnist_cnn"),
    (("--backends", "fake", "--examples", "imdb_gru.py"), "no example file imdb_gru.py", "did you mean imdb_gru"),
    (("--backends", "fake", "--examples", "my_example"), "no example 'my_example'"),
    (("--backends", "fake", "--examples", "~no-such-user/x.py"), "no example file ~no-such-user/x.py"),
    (("--backends", "fake", "--examples", "patterns.npz"), "no example 'patterns.npz'"),
    (("--backends", "fake", "--examples", f"{'long' * 75}.py"), "no example file longlong"),
    (("setup", "--backends", "fakke"), "did you mean fake"),
    (("list", "backend"), "`list` does not know 'backend': did you mean backends?"),
    (
        ("list", "foo"),
        "`list` does not know 'foo': choose from all, backends, examples, runs, features, suites, ",
    ),
    (("clean", "everything"), "`clean` does not know 'everything': choose from environments, data, compiled, all."),
    ((*RUN, "--name", "latest"), "A run cannot be called 'latest'"),
]

NUMBERS: list[tuple[tuple[str, ...], *tuple[str, ...]]] = [
    ((*RUN, option, number), f"--{option.strip('-')}", "whole number from 1 to")
    for option in ("--epochs", "--samples", "--batch-size", "--repeats", "--threads")
    for number in ("0", "-1", "1.5", "x", "", "99999999999", "9" * 5000)
]
NUMBERS += [((*RUN, "--seed", seed), "whole number from 0 to 4,294,967,295") for seed in ("-1", "x", "4294967296")]
NUMBERS += [((*RUN, "--timeout", time), "seconds above 0") for time in ("0", "-1", "x", "nan", "inf", "1e300")]
NUMBERS += [((*RUN, "--memory-limit", size), "a size such as 8GiB") for size in ("0GiB", "8", "x", "1e9GB")]
NUMBERS += [(("resume", "--retry", text), "failed, timeout") for text in ("", "ok", "failed,interrupted")]

OPTIONS = [
    ((*RUN, "--profile", "quik"), "there is no 'quik'", "quick"),
    ((*RUN, "--image-data-format", "nchw"), "'nchw' is not one of native, channels_first", "channels_last"),
    (("parity", *RUN[:2], "--threads", "1,2"), "--threads: `parity` takes one value", "`run` takes several"),
    ((*RUN, "--data", "fake"), "there is no 'fake'", "synthetic"),
    ((*RUN, "--seeds", "random"), "'random' is not same, different or a number from 2 to 1,000"),
    ((*RUN, "--seeds", "1"), "'1' is not same, different or a number"),
    ((*RUN, "--seeds", "3", "--repeats", "2"), "--seeds with a number says how often", "leave out --repeats"),
    ((*SCRIPT, "--variant", "'"), '--variant "\'" is not a list of arguments (No closing quotation)'),
    ((*SCRIPT, "--variant=--api-key X"), "have a secret", "--pass-env"),
    ((*SCRIPT, "--variant=--a b", "--variant=--a  b"), "two of them are the same"),
    ((*SCRIPT, "--compare-lines", "x"), "--compare-lines", "whole number"),
    ((*RUN, "--seeds", "different", "--seed", "4294967295", "--repeats", "2"), "choose a smaller --seed"),
    ((*RUN, "--baseline", "jax"), "--baseline 'jax' is not one of the run's backends", "keras9/fake"),
    ((*RUN, "--baseline", "fakke"), "did you mean fake"),
    ((*RUN, "--baseline", ""), "--baseline '' is not one of the run's backends"),
    ((*RUN, "--baseline"), "needs a value"),
    ((*RUN, "--device", "tpu"), "use auto, cpu, gpu or gpu:N"),
    ((*RUN, "--device", "gpu"), "no NVIDIA GPU was found", "--device cpu"),
    ((*RUN, "--device", "gpu:7"), "no NVIDIA GPU was found"),
    (("setup", "--backends", "fake", "--device", "gpu"), "no NVIDIA GPU was found"),
    ((*RUN, "--samples", "49"), "my_example asks for 49 samples", "has 48"),
    ((*RUN, "--samples", "7"), "7 samples are fewer than one batch of 8", "--batch-size"),
    ((*RUN, "--batch-size", "33"), "32 samples are fewer than one batch of 33"),
    ((*RUN, "--results", "my_example.py"), "my_example.py is not a folder", "--results"),
    ((*RUN, "--results", "my_example.py/below/it"), "my_example.py is not a folder"),
    ((*RUN, "--results", "x" * 300), "File name too long"),
    ((*RUN, "--python", "fake"), "not of the form"),
    ((*RUN, "--python", "fake="), "not of the form"),
    ((*RUN, "--python", "=python"), "not of the form"),
    ((*RUN, "--python", "nothing=python"), "unknown backend, nothing"),
    ((*RUN, "--python", "tensorflow=python"), "could mean keras2/tensorflow or keras3/tensorflow"),
    ((*RUN, "--python", "fake=no/such/python"), "there is no Python at"),
    ((*RUN, "--python", "fake=~no-such-user/python"), "there is no Python at"),
    ((*RUN, "--python", "fake=my_example.py"), "my_example.py, does not start"),
    ((*RUN, "--python", "fake=my_example.py", "--dry-run"), "my_example.py, does not start"),
    ((*RUN, "--python", "fake=my_example.py,as-is"), "my_example.py, does not start"),
    (("list", "--python", "fake"), "not of the form"),
    ((*RUN, "--python", "fake=python1.5"), "there is no Python at", "nor on PATH a python1.5"),
    (("--backends", "jax@"), "keras3/jax@ lacks a version, such as 0.9"),
    (("report", "--columns", "all"), "there is no column 'all': choose from backend"),
    (("report", "--columns", "foo"), "choose from backend,", "memory (MiB), status, or any column of summary.csv"),
    (("report", "yesterday"), "There is no run 'yesterday'"),
    (("report",), "There are no runs of your own in results yet"),
    (("report", "--results", "my_example.py"), "There are no runs of your own in my_example.py yet"),
    (("report", "x" * 300), "File name too long"),
    (("report", "a", "b"), "There is no run 'a'"),
    (("resume", "yesterday"), "There is no run 'yesterday'"),
    (("resume",), "There are no runs of your own in results yet"),
    (("compare", "latest", "reference"), "There are no runs of your own in results yet"),
    (("export", "latest", "--to", "json"), "There are no runs of your own in results yet"),
]


@pytest.mark.parametrize(
    ("arguments", "words"), [(row[0], row[1:]) for row in NAMES], ids=lambda value: str(value)[:60]
)
def test_a_wrong_name_is_one_sentence(bench: Bench, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    check(bench, arguments, *words)


@pytest.mark.parametrize(
    ("arguments", "words"), [(row[0], row[1:]) for row in NUMBERS], ids=lambda value: str(value)[-60:]
)
def test_a_wrong_number_is_one_sentence(bench: Bench, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    check(bench, arguments, *words)


@pytest.mark.parametrize(
    ("arguments", "words"), [(row[0], row[1:]) for row in OPTIONS], ids=lambda value: str(value)[-60:]
)
def test_a_wrong_option_is_one_sentence(bench: Bench, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    check(bench, arguments, *words)


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        (("help",), ("--help",)),
        (("help", "resume"), ("resume", "--help")),
        (("--help", "resume"), ("resume", "--help")),
    ],
)
def test_help_is_a_command_too(bench: Bench, asked: tuple[str, ...], same: tuple[str, ...]) -> None:
    said = bench(*asked)
    assert said == bench(*same)
    assert said.status == 0 and "usage: kbench" in said.out


def changed(old: str, new: str) -> bytes:
    assert old in EXAMPLE
    return EXAMPLE.replace(old, new).encode()


PROFILES_AS = ("needs PROFILES as a dict of smoke, quick and full", "samples, epochs and", "whole numbers above 0")
FULL = '{"samples": 48, "validation_samples": 12, "epochs": 3}'


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ("has no function build_model",)),
        (b"def build_model(:\n", ("is not valid Python, line 1",)),
        (b"# \xff\xfe\n" + EXAMPLE.encode(), ("is not valid Python",)),
        (b"x = '\0'\n", ("is not valid Python", "null bytes")),
        (b"# -*- coding: rot13 -*-\n", ("my_example.py is not valid Python: it is not text",)),
        (b"# -*- coding: no-such -*-\n", ("is not valid Python",)),
        (b"x = " + b"(" * 500, ("is not valid Python",)),
        (b"x = " + b"-" * 100_000 + b"1\n", ("an expression has thousands of terms, or is nested too deeply",)),
        (changed("def build_model", "def make_model"), ("has no function build_model",)),
        (changed('DATA = "patterns.npz"\n', ""), ("has neither DATA nor load_data()",)),
        (changed('"patterns.npz"', "open('x')"), ("computes its DATA",)),
        (changed('"patterns.npz"', "{[]: 1}"), ("computes its DATA",)),
        (changed('"patterns.npz"', "''"), ("needs DATA as the name of a dataset or of a file.npz",)),
        (changed('"patterns.npz"', "'\\0.npz'"), ("needs DATA as",)),
        (changed('"patterns.npz"', "'mnits'"), ("there is no dataset mnits", "did you mean mnist")),
        (changed('"patterns.npz"', "'absent.npz'"), ("absent.npz does not exist",)),
        (changed('"patterns.npz"', "'~no-such-user/x.npz'"), ("x.npz does not exist",)),
        (changed('"patterns.npz"', "'random_images'"), ("trains, and its data 'random_images' has no labels",)),
        (changed('"patterns.npz"', "'imdb'"), ("imdb has no input image",)),
        (changed('INPUT = "image"', 'INPUT = "picture"'), ("needs INPUT as image, flat or sequence",)),
        (changed("BATCH_SIZE = 8", "BATCH_SIZE = 0"), ("needs BATCH_SIZE as a whole number above 0",)),
        (changed("BATCH_SIZE = 8", "BATCH_SIZE = True"), ("needs BATCH_SIZE",)),
        (changed("PARAMETERS = 51", "PARAMETERS = -51"), ("needs PARAMETERS",)),
        (changed('LOSS = "categorical_crossentropy"\n', ""), ("has no LOSS",)),
        *(
            (
                changed("PARAMETERS = 51", f"TARGET_ACCURACY = {value}"),
                ("needs TARGET_ACCURACY", "above 0 and up to 1"),
            )
            for value in ("98", "1.01", "0", "-0.5", "'high'", "True", "[0.9]", "1e999")
        ),
        (
            changed("PARAMETERS = 51", "TASK = 'infer'\nTARGET_ACCURACY = 0.9"),
            ("TARGET_ACCURACY", "which learns nothing"),
        ),
        (changed('"learning_rate": 0.5, ', ""), ("needs OPTIMIZER as a dict", "see 'learning_rate'")),
        (changed('    "full"', '    "fulll"'), ("needs PROFILES as", "full at least", "see 'fulll'")),
        (changed(FULL, "{}"), PROFILES_AS),
        (changed(FULL, "[48]"), PROFILES_AS),
        (changed(FULL, FULL.replace("epochs", "epoch")), (*PROFILES_AS, "see 'epoch'")),
        (changed(FULL, FULL.replace("3", "1.5")), (*PROFILES_AS, "see 'epochs'")),
        (changed('"smoke"', '"tiny"'), (*PROFILES_AS, "see 'tiny'")),
        (changed("32", "64").replace(b"48", b"64"), ("asks for 64 samples", "has 48")),
        (changed("12", "13"), ("asks for 13 validation samples", "has 12")),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_wrong_example_file_is_one_sentence(bench: Bench, content: bytes, words: tuple[str, ...]) -> None:
    (bench.folder / "my_example.py").write_bytes(content)
    check(bench, RUN, *words)


def test_a_file_whose_name_is_no_text_is_one_sentence(bench: Bench) -> None:
    name = os.fsdecode(b"bad\xff.py")
    bench.example(name)
    check(bench, ("--backends", "fake", "--examples", name), "is not text in UTF-8: rename it")
    check(bench, ("script", name, "--backends", "fake"), "is not text in UTF-8: rename it")
    bench.example(f"{'x' * 200}.py")
    check(bench, ("--backends", "fake", "--examples", f"{'x' * 200}.py"), "has more than 120 bytes: shorten it")


def test_a_program_beside_a_file_that_hides_keras_is_one_sentence(bench: Bench) -> None:
    for name in ("keras.py", "train.py"):
        bench.example(name, "import keras\n")
        check(bench, ("script", name, "--backends", "fake"), "keras.py in place of Keras: rename it")


def test_a_file_that_seems_to_hold_a_terabyte_or_is_a_pipe_is_one_sentence(bench: Bench) -> None:
    with (bench.folder / "my_example.py").open("ab") as file:
        file.truncate(1 << 40)
    check(bench, RUN, "my_example.py cannot be read: it is larger than 64 MiB")
    with (bench.folder / "patterns.npz").open("wb") as file:
        file.truncate(1 << 40)
    bench.example("my_example.py")
    check(bench, RUN, "patterns.npz cannot be read as .npz (File is not a zip file)")
    lock = bench.backends / "keras9" / "fake.cpu.lock"
    with lock.open("ab") as file:
        file.truncate(1 << 40)
    check(bench, RUN, "fake.cpu.lock is larger than 64 MiB")
    bench.backend()
    os.mkfifo(bench.backends / "keras9" / "pipe.toml")
    check(bench, RUN, "pipe.toml cannot be read: it is not a regular file")


def test_an_example_with_the_name_of_an_own_one_is_refused(bench: Bench) -> None:
    bench.example("mnist_cnn.py")
    check(bench, ("--backends", "fake", "--examples", "mnist_cnn.py"), "has the name of kbench's own example")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY", b"x" * 1000])
def test_corrupt_data_is_one_sentence(bench: Bench, content: bytes) -> None:
    (bench.folder / "patterns.npz").write_bytes(content)
    check(bench, RUN, "patterns.npz cannot be read as .npz", "numpy.savez")


def test_a_cache_that_is_a_file_is_one_sentence(bench: Bench) -> None:
    bench.patch.setenv("KBENCH_CACHE", str(bench.folder / "patterns.npz"))
    check(bench, RUN, "patterns.npz is a file: name a folder with KBENCH_CACHE")


def test_a_folder_of_data_that_is_none_is_one_sentence(bench: Bench) -> None:
    bench.patch.setenv("KBENCH_DATA", "nowhere")
    check(bench, RUN, "nowhere is not a folder", "KBENCH_DATA")


def test_two_examples_of_one_name_are_refused(bench: Bench) -> None:
    (bench.folder / "other").mkdir()
    bench.example("other/my_example.py")
    check(
        bench,
        ("--backends", "fake", "--examples", "my_example.py,other/my_example.py"),
        "Two examples are called 'my_example'",
    )


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("keras9/fake.toml", b"title = ", ("keras9/fake.toml is not valid TOML",)),
        ("keras9/fake.toml", b"\xff", ("keras9/fake.toml is not valid TOML",)),
        ("keras9/fake.toml", b"", ("keras9/fake.toml lacks the key `title`",)),
        ("keras9/fake.cpu.lock", None, ("keras9/fake.toml", "needs fake.cpu.lock next to it")),
        ("keras9/fake.toml", None, ("no backend's file was found under",)),
    ],
)
def test_a_broken_backend_of_the_users_own_is_one_sentence(
    bench: Bench, file: str, content: bytes | None, words: tuple[str, ...]
) -> None:
    path = bench.backends / file
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    for command in (RUN, ("list",), ("setup", "--backends", "fake")):
        check(bench, command, *words)


def test_a_folder_of_backends_that_is_none_is_one_sentence(bench: Bench) -> None:
    bench.patch.setenv("KBENCH_BACKENDS", "nowhere")
    check(bench, RUN, "KBENCH_BACKENDS is nowhere, which is not a folder")


def test_a_backend_with_the_name_of_an_own_one_is_refused(bench: Bench) -> None:
    bench.backend("keras3/jax")
    check(bench, RUN, "KBENCH_BACKENDS has a keras3/jax, which kbench has, too")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"schema": 99}', '{"schema": 3, "plan": 5}', "\x00", "[" * 100_000]
)
def test_a_damaged_run_is_one_sentence(bench: Bench, text: str) -> None:
    (bench.results / "mine").mkdir(parents=True)
    (bench.results / "mine" / "run.json").write_text(text)
    check(bench, ("report", "mine"), "run.json" if "99" not in text else "newer kbench")


def test_a_folder_that_cannot_be_written_is_one_sentence_before_anything_starts(bench: Bench) -> None:
    bench.patch.setattr(os, "access", lambda path, mode: not (mode & os.W_OK))
    check(bench, RUN, f"{bench.folder} is not writable", "--results")


def test_a_python_of_a_version_that_the_backend_cannot_use_is_one_sentence(bench: Bench) -> None:
    assert bench.measure().status == 0
    python = next(bench.environment().glob("keras9-fake-*/bin/python"))
    (bench.backends / "keras9" / "fake.toml").unlink()
    bench.backend("keras9/old", python="3.5")
    arguments = ("--backends", "old", "--python", f"old={python}", *RUN[2:])
    check(bench, arguments, "keras9/old needs Python 3.5")


def test_an_environment_of_the_users_own_without_keras_is_one_sentence(bench: Bench, tmp_path: Path) -> None:
    assert bench.measure().status == 0
    bench.backend("keras9/strange")
    toml = bench.backends / "keras9" / "strange.toml"
    toml.write_text(toml.read_text().replace('"theano"', '"no_such_framework"'))
    python = next(bench.environment().glob("keras9-fake-*/bin/python"))
    arguments = ("--backends", "strange", "--python", f"strange={python},as-is", *RUN[2:])
    check(bench, arguments, "has no no_such_framework", "install it there")


def test_a_wrong_request_as_a_process_of_its_own_prints_no_traceback(bench: Bench) -> None:
    process = bench.start("--backends", "nonsense", as_users_do=True)
    out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert err.startswith("kbench: error: There is no backend 'nonsense'") and err.count("\n") == 1


OPTION_NAMES = [
    "--backends",
    "--examples",
    "--profile",
    "--epochs",
    "--samples",
    "--batch-size",
    "--repeats",
    "--seed",
]
OPTION_NAMES += [
    "--seeds",
    "--baseline",
    "--image-data-format",
    "--threads",
    "--timeout",
    "--memory-limit",
    "--data",
    "--results",
    "--python",
    "--device",
]
WORDS = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(
        ["fake", "all", "fake=", "fake=.", "~", "~x", "/", "..", "gpu:1", "1e9", "-", "--", "0x1", "\u0663"]
    ),
)


@given(st.lists(st.tuples(st.sampled_from(OPTION_NAMES), WORDS), max_size=3))
def test_no_value_of_an_option_whatever_ends_in_a_traceback(bench: Bench, options: list[tuple[str, str]]) -> None:
    given_so = [word for option in options for word in option]
    assert main.main([*RUN, "--dry-run", *given_so]) in (0, 2)


def test_a_run_that_is_whole_is_not_refused(bench: Bench) -> None:
    fake_run(bench.results, [(cell(), 1.0, Outcome(OK))])
    assert bench("report").status == 0
    check(bench, ("report", "--baseline", "jax"), "--baseline 'jax' is not one of the run's backends", "keras2/cntk")
