"""What the tables say, and that what they quote cannot act."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import pytest
from fake_runs import notes, replace, summary
from hypothesis import given
from hypothesis import strategies as st

from kbench.records.values import (
    AS_FAST,
    FAILED,
    FASTEST,
    NO_DIFFERENCE,
    NOT_COMPARED,
    REPEATS,
    SLOWER,
    UNSUPPORTED,
    Interval,
)
from kbench.summary import TO_FASTEST, Summary
from kbench.tables import columns
from kbench.tables.answers import headline
from kbench.tables.content import table
from kbench.tables.markdown import escape, markdown
from kbench.tables.page import Run, page
from kbench.tables.text import text
from kbench.words.text import plain, significant

FAST = summary("keras3/jax", epoch_seconds=1.0, samples_per_second=1000.0)
SLOW = summary("keras2/cntk", epoch_seconds=12345.6, relative_to_fastest=12345.6, samples_per_second=0.081)
BROKEN = summary(
    "keras2/theano",
    status=FAILED,
    reason="the compiler said no",
    epoch_seconds=None,
    first_epoch_seconds=None,
    samples_per_second=None,
    relative_to_fastest=None,
    final_val_accuracy=None,
)


def of_rows(rows: list[Summary]) -> str:
    return page(Run("run", "", "", {}, {}, {}, rows, []), {})


def test_a_training_table_reads_like_this() -> None:
    unsure = [replace(row, verdict=NOT_COMPARED) for row in (FAST, SLOW)]
    assert text([*unsure, BROKEN]).splitlines() == [
        "mnist_cnn (quick: 1,000 of 60,000 samples, 3 epochs, batch 128, real data, cpu, channels_last)",
        "mnist_cnn could not be compared: one epoch each is too few; use --repeats 3.",
        "backend        s/epoch  times slower  first epoch (s)  samples/s  val. accuracy  status",
        "-------------  -------  ------------  ---------------  ---------  -------------  ----------",
        "keras3/jax        1.00         ?1.00             2.50      1,000         0.9375  ok",
        "keras2/cntk     12,346       ?12,346             2.50     0.0810         0.9375  ok",
        "keras2/theano        -             -                -          -              -  failed [1]",
        "[1] the compiler said no",
        "?: could not be compared, as there are too few values.",
    ]


def test_the_mark_of_what_could_not_be_compared_has_the_reason() -> None:
    def remark(*rows: Summary) -> str:
        (said,) = [one for one in table(rows).remarks if one.startswith("?")]
        return said.removeprefix("?: could not be compared").removesuffix(".")

    wide = replace(SLOW, verdict=NOT_COMPARED, relative_interval=Interval(0.01, 900.0))
    few = replace(SLOW, backend="keras3/torch", verdict=NOT_COMPARED)
    load = dataclasses.replace(few, ratios={TO_FASTEST: dataclasses.replace(few.ratios[TO_FASTEST], rough=True)})
    assert remark(FAST, wide) == ", as the interval of the ratio is wider than a factor of 3 each way"
    assert remark(FAST, few) == ", as there are too few values"
    assert remark(FAST, load) == "", "the answer says that other programs used the processor"


def test_times_that_other_programs_disturbed_are_marked_and_those_of_other_rows_are_not() -> None:
    disturbed = replace(SURE, turns=4, disturbed_turns=3)
    shown = of_rows([disturbed, replace(FAR, turns=4, disturbed_turns=1)])
    marked = next(line for line in shown.splitlines() if line.startswith(f"| {SURE.backend}"))
    plain_row = next(line for line in shown.splitlines() if line.startswith(f"| {FAR.backend}"))
    assert marked.count("?") == 3 and "?" not in plain_row
    assert "?time: disturbed, so not to be relied on." in shown and "?time" not in of_rows([SURE, FAR])


def test_a_table_names_the_kernel_only_where_there_are_recurrent_layers() -> None:
    found = table([replace(FAST, recurrent_kernel="scan"), replace(SLOW, recurrent_kernel="loop"), BROKEN])
    place = found.columns.index("kernel")
    assert [row[place] for row in found.rows] == ["scan", "loop", "-"]
    assert any(remark.startswith("kernel: how time steps") for remark in found.remarks)
    assert "kernel" not in table([FAST, SLOW]).columns


SURE = replace(FAST, epoch_interval=Interval(0.98, 1.02), verdict=FASTEST, resampled=REPEATS, resampled_values=5)
NEAR = replace(
    SURE,
    backend="keras2/mxnet",
    epoch_seconds=1.02,
    epoch_interval=Interval(0.98, 1.06),
    relative_to_fastest=1.02,
    relative_interval=Interval(0.9987, 1.06),
    verdict=NO_DIFFERENCE,
)
FAR = replace(
    SURE,
    backend="keras3/torch",
    epoch_seconds=1.53,
    epoch_interval=Interval(1.46, 1.6),
    relative_to_fastest=1.53,
    relative_interval=Interval(1.003, 1.6),
    verdict=SLOWER,
)


def test_a_table_of_what_is_sure_and_what_is_not_reads_like_this() -> None:
    assert text([SURE, NEAR, FAR]).splitlines()[1:] == [
        "mnist_cnn trains fastest on keras3/jax: 1.00 s an epoch. keras3/torch takes 1.53 times as long",
        "(1.003 to 1.60). keras2/mxnet (1.02 times, 0.999 to 1.06) may be as fast.",
        "backend            s/epoch        times slower  verdict                  first      val.  status",
        "                                                                     epoch (s)  accuracy",
        "------------  ------------  ------------------  -------------------  ---------  --------  ------",
        "keras3/jax    1.00 ± 0.020                1.00  fastest                   2.50    0.9375  ok",
        "keras2/mxnet  1.02 ± 0.040  ~1.02 (0.999-1.06)  no difference shown       2.50    0.9375  ok",
        "keras3/torch  1.53 ± 0.070   1.53 (1.003-1.60)  slower                    2.50    0.9375  ok",
        "~: open: no difference shown, as the interval of the ratio includes 1.",
        "",
        "Not shown for lack of width: samples/s (in summary.md).",
    ]


def test_markdown_and_a_wide_page_have_the_verdict_in_words() -> None:
    shown = markdown([SURE, NEAR, FAR])
    assert [row.split(" | ")[3].strip() for row in shown.splitlines() if row.startswith("| keras")] == [
        "fastest",
        "no difference shown",
        "slower",
    ]
    wide = text([SURE, NEAR, FAR], width=150)
    assert any("keras2/mxnet" in line and "no difference shown" in line for line in wide.splitlines())
    assert "Not shown" not in wide


def test_what_the_marks_mean_stands_below_the_table() -> None:
    assert not table([SURE, FAR]).remarks
    near = table([SURE, NEAR])
    assert near.remarks == ("~: open: no difference shown, as the interval of the ratio includes 1.",)


def test_ratios_of_one_process_say_where_it_is_known_from_how_much_processes_differ() -> None:
    (remark,) = table([SURE, replace(FAR, relative_processes=1)]).remarks
    assert remark == "One process each: how much processes differ is taken from earlier runs."
    assert not table([SURE, replace(FAR, relative_processes=3)]).remarks


def test_a_row_that_is_as_fast_says_to_within_how_much() -> None:
    equal = replace(NEAR, verdict=AS_FAST)
    lines = text([SURE, equal, FAR]).splitlines()
    assert "keras2/mxnet (to within 6%) is as fast." in " ".join(lines)
    (row,) = (line for line in lines if line.startswith("keras2/mxnet"))
    assert " 1.02 " in row and " as fast " in row and "~" not in row
    assert not table([SURE, equal]).remarks
    assert "keras2/mxnet is as fast." in headline([SURE, equal])


def test_a_baseline_is_named_and_its_ratio_shown_instead_of_that_to_the_fastest() -> None:
    rows = [
        replace(FAST, baseline="keras2/cntk", relative_to_baseline=0.25, verdict="faster"),
        replace(SLOW, baseline="keras2/cntk", relative_to_baseline=1.0, verdict="baseline"),
    ]
    found = table(rows)
    assert "x baseline" in found.columns and "times slower" not in found.columns
    assert [row[found.columns.index("x baseline")] for row in found.rows] == ["0.250", "1.00"]
    assert found.remarks == ("x baseline: the ratio to keras2/cntk.",)
    alone = table([replace(FAST, baseline="keras2/cntk")])
    assert alone.remarks == ("No x baseline: keras2/cntk has no steady time here.",)
    assert "x baseline is the ratio to keras2/cntk" in of_rows(rows)


def test_accuracies_of_repeats_have_their_spread_and_say_whether_the_seed_varied() -> None:
    row = replace(FAST, repeats=3, seeds=1, final_val_accuracy=0.9553, final_val_accuracy_sd=0.00123)
    found = table([row])
    assert found.rows[0][found.columns.index("val. accuracy")] == "0.9553 ± 0.0012"
    assert found.remarks == ("± of an accuracy: the standard deviation over repeats with the same seed.",)
    assert table([replace(row, seeds=3)]).remarks[0].endswith("with different seeds.")


def test_time_to_accuracy_is_shown_where_a_row_got_there() -> None:
    stated = replace(FAST, target="val_accuracy >= 0.98", repeats_to_target=0)
    assert not any("0.98" in column for column in table([stated]).columns)
    reached = replace(stated, repeats=3, repeats_to_target=2, epochs_to_target=2.5, seconds_to_target=41.23)
    found = table([stated, reached])
    assert found.columns[-3:] == ("epochs to 0.98", "s to 0.98", "status")
    assert [row[-3:-1] for row in found.rows] == [("-", "-"), ("2.5", "41.2")]
    assert found.remarks[-1].endswith(
        "until the validation accuracy reaches it. keras3/jax reached it in 2 of 3 repeats."
    )


def test_what_explains_a_column_stands_only_where_the_column_does() -> None:
    reached = replace(FAST, target="val_accuracy >= 0.98", repeats_to_target=1, epochs_to_target=2.0)
    row = replace(reached, repeats=2, final_val_accuracy_sd=0.01, recurrent_kernel="scan")
    heads = ("kernel:", "± of an accuracy:", "to 0.98:")

    def explained(remarks: Iterable[str]) -> set[str]:
        return {head for head in heads for remark in remarks if remark.startswith(head)}

    assert explained(table([row]).remarks) == {*heads}
    assert explained(table([replace(row, data="mnist", data_source="synthetic")]).remarks) == {*heads[:1]}
    asked = columns.named(["backend", "recurrent_kernel"])
    assert explained(table([row], shown=asked).remarks) == {"kernel:"}
    assert explained(text([row], width=200).split("\n")) == {*heads}
    narrow = text([row], width=60)
    assert "s to" in narrow and "Not shown for lack of width: kernel" in narrow
    assert explained(narrow.split("\n")) == {*heads[1:]}


def test_columns_that_a_narrow_page_leaves_out_are_named_once_and_in_summary_md() -> None:
    example = replace(FAR, example="mnist_mlp")
    shown = text([SURE, FAR, example], width=70)
    assert max(map(len, shown.splitlines())) <= 70
    assert shown.count("Not shown for lack") == 1
    last = shown.rpartition("\n\n")[2].replace("\n", " ")
    assert last == "Not shown for lack of width: samples/s, val. accuracy (in summary.md)."
    assert "verdict" in shown
    for column in ("verdict", "samples/s", r"first epoch (s)"):
        assert column in of_rows([SURE, FAR])


def test_the_page_says_what_the_words_mean() -> None:
    shown = of_rows([SURE, FAR])
    for word in ("In 95 % of cases", "*slower*", "*faster*", "*no difference shown*"):
        assert word in shown
    assert "further processes" not in of_rows([FAST])


def test_an_inference_table_is_per_1000_images() -> None:
    row = summary(task="infer", seconds_per_1000_samples=53.21, first_epoch_seconds=70.0, epochs=1)
    found = table([replace(row, epochs=3)])
    assert found.columns == ("backend", "s/1,000 images", "times slower", "cold pass (s)", "images/s", "status")
    assert found.rows == (("keras2/cntk", "53.2", "1.00", "70.0", "667", "ok"),)
    assert "3 passes" in found.heading
    assert "1 pass," in table([row]).heading


def test_text_that_is_written_has_its_tokens_a_second_and_the_time_to_the_first() -> None:
    row = summary(task="infer", input="sequence", tokens_per_second=1234.5, first_token_seconds=0.0125)
    found = table([row])
    of_row = dict(zip(found.columns, found.rows[0], strict=True))
    assert (of_row["tokens/s"], of_row["first token (s)"]) == ("1,234", "0.0125")
    assert "samples/s" not in of_row


def test_format_and_device_are_columns_only_where_they_vary() -> None:
    other = replace(FAST, image_data_format="channels_first", device="gpu:0")
    alike, varied = table([FAST, FAST]), table([FAST, other])
    assert alike.heading.endswith("real data, cpu, channels_last)")
    assert alike.columns[:2] == ("backend", "s/epoch")
    assert varied.heading.endswith("real data)")
    assert varied.columns[:3] == ("backend", "channels", "device")
    assert [row[1:3] for row in varied.rows] == [("last", "cpu"), ("first", "gpu:0")]


def test_a_model_without_pictures_has_no_image_data_format() -> None:
    assert "channels" not in table([replace(FAST, input="sequence")]).heading


def test_the_form_of_recurrent_layers_is_shown_where_there_is_one() -> None:
    found = table([replace(FAST, form="unrolled"), SLOW, BROKEN])
    assert found.columns[1] == "recurrent"
    assert [row[1] for row in found.rows] == ["unrolled", "default", "-"]
    assert any(remark.startswith("recurrent:") for remark in found.remarks)


def test_one_epoch_has_no_steady_time_and_the_table_says_why() -> None:
    row = replace(FAST, epochs=1, epoch_seconds=None, relative_to_fastest=None)
    found = table([row])
    assert found.rows[0][1:4] == ("-", "-", "2.50")
    assert found.remarks[0].startswith("One epoch only")


def test_a_subset_is_called_one_and_the_whole_is_not() -> None:
    whole = replace(FAST, available_samples=1000)
    assert "1,000 of 60,000 samples" in table([FAST]).heading
    assert "(quick: 1,000 samples, 3 epochs" in table([whole]).heading


def test_reasons_and_notes_are_footnotes_and_said_once() -> None:
    rows = [
        replace(FAST, findings=notes("a partial batch was left out")),
        replace(SLOW, findings=notes("a partial batch was left out")),
        BROKEN,
    ]
    found = table(rows)
    assert found.footnotes == ("a partial batch was left out", "the compiler said no")
    assert [row[-1] for row in found.rows] == ["ok [1]", "ok [1]", "failed [2]"]


def test_the_terminal_table_of_the_longest_names_and_a_long_reason_is_100_wide() -> None:
    rows = [
        summary(
            "keras3/tensorflow",
            image_data_format="channels_first",
            epoch_seconds=1234.5,
            epoch_interval=Interval(1230.0, 1240.0),
            relative_to_fastest=1.015,
            relative_interval=Interval(0.987, 1.061),
            verdict=NO_DIFFERENCE,
            final_val_accuracy_sd=0.1234,
            target="val_accuracy >= 0.98",
            repeats_to_target=1,
            epochs_to_target=12.5,
            seconds_to_target=12345.0,
        ),
        replace(BROKEN, status=UNSUPPORTED, reason="because " * 50),
    ]
    assert "0.987-1.06" in text(rows)
    assert max(map(len, text(rows).splitlines())) <= 100


def test_a_guest_cannot_steer_the_terminal() -> None:
    shown = text([replace(BROKEN, reason="\x1b[31mred\x1b[0m\x07\r\nnext\x9b2J\tline", example="a\nb")])
    assert "[1] red next 2J line" in shown
    assert shown.startswith("a b (")
    assert all(character.isprintable() or character == "\n" for character in shown)


def test_markdown_cells_cannot_end_a_cell_or_begin_html() -> None:
    shown = markdown([replace(BROKEN, backend="a|b<i>", reason="<script>|`x`|</script> & [a](b)")])
    assert r"a\|b&lt;i&gt;" in shown
    assert r"&lt;script&gt;\|\`x\`\|&lt;/script&gt; &amp; \[a\](b)" in shown
    assert "<script" not in shown
    assert r"failed \[1\]" in shown


def test_markdown_keeps_ordinary_names_readable() -> None:
    assert escape("mnist_cnn (quick: 2,048 of 60,000 samples)") == "mnist_cnn (quick: 2,048 of 60,000 samples)"
    assert escape("__all__ $x$ ~y~") == r"\_\_all\_\_ \$x\$ \~y\~"


@given(st.text())
def test_escaped_text_is_one_line_without_html(anything: str) -> None:
    shown = escape(anything)
    assert "<" not in shown
    assert len(shown.splitlines()) <= 1
    assert "|" not in shown.replace(r"\|", "")


def test_the_headline_counts_wins_and_how_rows_ended() -> None:
    slow = replace(SLOW, relative_interval=Interval(12000.0, 12500.0), verdict=SLOWER)
    mlp = [replace(row, example="mnist_mlp") for row in (FAST, slow)]
    hrnn = [summary("keras2/cntk", "mnist_hrnn")]
    assert headline([FAST, slow, BROKEN, *mlp, *hrnn]) == (
        "keras3/jax was fastest in 2 of 3 examples, keras2/cntk in 1. Rows: 5 ok, 1 failed."
    )
    assert headline([FAST, slow]) == "keras3/jax was fastest. All 2 rows were measured."
    assert headline([SURE, NEAR, FAR]) == (
        "keras3/jax was fastest. keras2/mxnet may be as fast. All 3 rows were measured."
    )
    assert headline([SURE, NEAR, *mlp]) == (
        "keras3/jax was fastest in 2 of 2 examples. In 1 of these, another backend may be as fast. "
        "All 4 rows were measured."
    )
    assert headline([BROKEN]) == "No backend has a steady epoch to compare. Rows: 1 failed."


def test_the_page_names_machine_command_versions_and_notes() -> None:
    backends = {"keras3/jax": {"title": "JAX <fast>", "notes": ["compiles first."]}}
    shown = page(
        Run("run|1", "", "a `machine`", {"command_line": "run.py `a` ``b``"}, backends, {}, [FAST], []),
        {"": ["plots/o.png"]},
    )
    assert shown.startswith("# kbench: run\\|1\n")
    assert "Machine: a \\`machine\\`." in shown
    assert "Command: ``` run.py `a` ``b`` ```" in shown
    assert "![all examples](plots/o.png)" in shown
    assert "- **keras3/jax**: JAX &lt;fast&gt;; 2.7 with Keras 2.2.4; compiles first" in shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        (0.0, "0"),
        (0.01234, "0.0123"),
        (0.1, "0.100"),
        (1.0, "1.00"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (99.96, "100"),
        (123.4, "123"),
        (12345.6, "12,346"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
    ],
)
def test_numbers_have_three_significant_figures(value: float | None, shown: str) -> None:
    assert significant(value) == shown


@given(st.text())
def test_plain_text_is_one_printable_line(anything: str) -> None:
    assert len(plain(anything).splitlines()) <= 1
    assert "\x1b" not in plain(anything)


def test_a_variant_has_its_ratio_to_its_backend_as_it_is() -> None:
    variant = replace(
        SLOW, backend=f"{SLOW.backend}+jit=on", relative_to_default=1.5, default_interval=Interval(0.9, 2.5)
    )
    printed = text([FAST, SLOW, variant], 250)
    (line,) = (line for line in printed.splitlines() if "+jit=on" in line and "~1.50" in line)
    assert "~1.50" in line and "0.900-2.50" in line
    assert "x default: time of the variant / time of the same backend without settings." in printed
    rows = [replace(row, baseline=SLOW.backend) for row in (FAST, SLOW, variant)]
    assert "x default" not in text(rows, 250), "x baseline says it"
