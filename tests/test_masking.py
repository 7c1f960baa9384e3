"""Passwords and tokens reach a program, and are masked in what is kept and shown."""

from __future__ import annotations

import pytest
from fake_bench import Bench

from kbench.base.masking import masked_arguments

TOKEN = "ghp_" + "hunter2x" * 5
SECRETS = (
    "--api-key",
    "hunter2",
    TOKEN,
    "-p",
    "hunter2",
    "TOKEN=hunter2",
    "https://ada:hunter2@host/x",
    "--max-tokens",
    "7",
)
MASKED = ("--api-key", "***", "***", "-p", "***", "TOKEN=***", "https://***@host/x", "--max-tokens", "7")


def kept(bench: Bench) -> str:
    return "\n".join(path.read_text("utf-8", "replace") for path in bench.results.rglob("*") if path.is_file())


def test_a_program_gets_its_secrets_and_what_is_kept_has_them_masked(bench: Bench) -> None:
    bench.draw()
    text = "import keras, os, sys\nprint([len(one) for one in sys.argv[1:]], 'KBENCH_ARGUMENTS' in os.environ)\n"
    bench.example("train.py", text)
    options = ("--backends", "fake", "--repeats", "1", "--device", "cpu", "--show-output", "--name", "mine")
    said = bench("script", "train.py", *options, "--", *SECRETS)
    assert said.status == 0 and f"{[len(one) for one in SECRETS]} False\n" in said.out
    assert "hunter2" not in kept(bench) + said.out + said.err
    assert bench.last().request["script"]["arguments"] == list(MASKED)
    assert "-- --api-key '***' '***' -p '***' 'TOKEN=***'" in bench.last().provenance["command_line"]
    said = bench("resume", "mine")
    assert said.status == 2 and said.err.count("\n") == 1
    assert (
        "resume mine -- --api-key '***' '***' -p '***' 'TOKEN=***' 'https://***@host/x' --max-tokens 7`" in said.err
    )
    assert bench("resume", "mine", "--", *SECRETS[:-1], "8").status == 2
    assert "0 of 1 cells to measure" in bench("resume", "mine", "--", *SECRETS).out
    said = bench("resume", "mine", "--", *(one.replace("hunter2", "hunter3") for one in SECRETS))
    assert "1 of 1 cells to measure" in said.out and "hunter" not in kept(bench) + said.out + said.err


def test_a_password_in_the_address_of_a_package_is_not_kept(bench: Bench) -> None:
    bench.patch.setenv("UV_HTTP_RETRIES", "0")
    bench.example("train.py", "import keras\n")
    package = "foo @ http://ada:hunter2@127.0.0.1:1/foo-1.0-py3-none-any.whl"
    options = ("--backends", "fake", "--repeats", "1", "--device", "cpu", "--name", "mine")
    said = bench("script", "train.py", *options, "--with", package)
    assert said.status == 1 and "foo @ http://***@127.0.0.1:1/foo-1.0-py3-none-any.whl cannot be added" in said.out
    logs = "\n".join(path.read_text() for path in bench.environment().glob("logs/*"))
    assert "hunter2" not in kept(bench) + said.out + said.err + logs
    said = bench("resume", "mine")
    assert said.status == 2 and "has a password, which was not kept: give it again" in said.err
    assert "0 of 1 cells to measure" in bench("resume", "mine", "--with", package).out
    assert bench("resume", "mine", "--with", package, "--retry", "unavailable").status == 1
    assert "hunter2" not in kept(bench)


def test_a_variable_with_a_secret_is_no_variant(bench: Bench) -> None:
    said = bench.measure(backends="fake+MY_TOKEN=hunter2")
    assert said.status == 2 and "--pass-env MY_TOKEN" in said.err and "hunter2" not in said.err
    assert bench.measure("--dry-run", backends="fake+TOKENIZERS_PARALLELISM=false").status == 0


TOKENS = (
    "sk-" + "a1B2" * 12,
    "sk-proj-" + "a1B2_x-" * 12,
    "sk-ant-api03-" + "a1B2_x" * 15 + "-AA",
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "a1B2_" * 12,
    "hf_" + "aB" * 17,
    "AKIA" + "A1B2" * 4,
    "xoxb-123456789012-abcdef",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123",
)


@pytest.mark.parametrize(
    ("argument", "masked"),
    [
        ("db.password=hunter2", "db.password=***"),
        ('{"api_key": "hunter2", "n": 1}', '{"api_key": "***", "n": 1}'),
        ("https://host/x?token=hunter2&n=2", "https://host/x?token=***&n=2"),
        ("git+https://hunter2@host/x.git@v1", "git+https://***@host/x.git@v1"),
        ("https://ada:h@nter2@host/x", "https://***@host/x"),
        ("Authorization: Bearer hunter2", "Authorization: *** ***"),
        *((one, "***") for one in TOKENS),
        (f"key:{TOKENS[0]}, x", "key:***, x"),
        *((one, one) for one in ("--author=ada", "a=b=c", "keras3/jax@0.9", "C:\\x", "--tokenizer=bert")),
        *((one, one) for one in ("sk-learn-experiments-2024-v1", "hf_bert", "ghp_x", "AKIA", "risk-" + "a" * 30)),
    ],
)
def test_what_seems_to_be_a_secret_is_masked_and_nothing_else(argument: str, masked: str) -> None:
    assert masked_arguments([argument]) == (masked,)


@pytest.mark.parametrize("value", ["5", "-3", "1e-4", "0.5", "data/x", "-x", "--path"])
def test_what_follows_p_is_no_password_if_it_is_a_number_a_path_or_an_option(value: str) -> None:
    assert masked_arguments(["-p", value, "x"]) == ("-p", value, "x")


def test_very_long_arguments_are_masked_at_once() -> None:
    for long in ("x" * 10**5, "a-" * 10**5, "a='" * 10**5, "://" * 10**5, "sk-a-" * 10**5, "eyJ" * 10**5):
        assert masked_arguments(["--token", long, long]) == ("--token", "***", long)
