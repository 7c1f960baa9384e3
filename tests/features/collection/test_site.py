"""The pages of a collection: every number leads to its run, and what is refused now stands in none."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import pytest
from collected import CHECKOUT, edit_events, edit_json, honest_run, new_collection, submit
from fake_bench import call, refused

from kbench import store
from kbench.features.collection import collection, site
from kbench.features.collection.admit import admit
from kbench.features.collection.collection import Collection
from kbench.store import packed


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Collection, Path]:
    """A collection with an honest run and a forged one, and the folder of its pages."""
    folder = tmp_path_factory.mktemp("site")
    run = honest_run(folder)
    to = new_collection(folder / "to", run)
    (to.folder / "collection.toml").write_text(
        f'title = "<script>alert(1)</script>"\nkbench = {[*to.terms.kbench]}\n'
    )
    (to.folder / "runs").mkdir()
    forged = shutil.copytree(run, folder / "forged")
    edit_json(forged / "run.json", lambda record: record["provenance"]["kbench"].update(version="<b>9.9</b>"))
    for one in (run, forged):
        store.pack(one, to.folder / "runs" / f"{one.name}.kbench.zip")
    to = collection.read(to.folder)
    left = site.write(to, folder / "out")
    assert [answer.name for answer in left] == ["forged"]
    return to, folder / "out"


def links(page: str) -> list[str]:
    return re.findall(r'href="([^"]+)"', page)


def test_each_number_leads_to_its_run_or_to_its_source(made: tuple[Collection, Path]) -> None:
    to, out = made
    page = (out / "index.html").read_text("utf-8")
    assert "1 run of 1 machine." in page and "Intel Xeon, 2 cores" in page and "Vectors, training" in page
    anchors = {*re.findall(r'id="([^"]+)"', page)}
    for link in links(page):
        if link.startswith("#"):
            assert link[1:] in anchors
        elif not link.startswith(("data:", "https://")):
            assert (out / link).is_file(), link
    numbers = re.findall(r'<li><span>(.*?)<br>.*?<a href="(.*?)">([\d.,]+)</a>', page)
    assert ("keras3/jax", "runs/honest.html", "1.00") in numbers
    (ratio,) = {
        float(number) for name, link, number in numbers if (name, link) == ("keras3/torch", "runs/honest.html")
    }
    assert ratio == pytest.approx(2.3, abs=0.1)
    assert any(link == "https://arxiv.org/abs/1608.07249" for link in links(page))  # of the literature
    shared = packed.packed_file(out / "runs" / "honest")
    assert shared.read_bytes() == packed.packed_file(to.folder / "runs" / "honest").read_bytes()


def test_a_run_says_which_checks_it_passed_and_which_rows_count(made: tuple[Collection, Path]) -> None:
    page = (made[1] / "runs" / "honest.html").read_text("utf-8")
    assert "passed: step times add up to epochs, and no epoch is missing" in page
    assert "not checked: <code>--replay 1</code> does it" in page
    assert page.count("<td>yes</td>") == 2


def test_what_is_refused_now_is_left_out_and_named_and_texts_are_no_markup(made: tuple[Collection, Path]) -> None:
    page = (made[1] / "index.html").read_text("utf-8")
    assert "forged: it was measured by kbench &lt;b&gt;9.9&lt;/b&gt;, and the collection takes" in page
    assert "<script" not in page and not (made[1] / "runs" / "forged.html").exists()


def test_a_replay_that_was_kept_of_this_very_file_is_shown(made: tuple[Collection, Path], tmp_path: Path) -> None:
    to, _ = made
    (pack,) = (one for one in to.packs if one.name.startswith("honest"))
    for sha256, shown in (("0" * 64, False), (hashlib.sha256(pack.read_bytes()).hexdigest(), True)):
        to.record_of(pack).write_text(f'{{"sha256": "{sha256}", "checks": {{"replay": "passed"}}}}')
        site.write(to, tmp_path / "out")
        page = (tmp_path / "out" / "runs" / "honest.html").read_text("utf-8")
        assert ("passed: an epoch that is computed again here comes to the same" in page) == shown
    to.record_of(pack).unlink()


def test_the_command_says_what_to_open_and_an_empty_collection_is_one_sentence(
    made: tuple[Collection, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = call(capsys, "site", str(made[0].folder), str(tmp_path / "out"))
    assert said.status == 0 and said.out.startswith(f"Open {tmp_path / 'out' / 'index.html'}\nLeft out: forged: ")
    (tmp_path / "collection.toml").write_text('title = "Empty"\nkbench = ["0.1.0"]\n')
    refused(call(capsys, "site", str(tmp_path), str(tmp_path / "out")), "has no run that is admitted")
    refused(call(capsys, "site", str(tmp_path / "out"), str(tmp_path)), "is no collection")


@pytest.mark.slow("it reads all cases of a run of Keras 2 several times")
def test_public_names_by_release_lead_to_their_runs_and_states_that_another_run_denies_are_refused(
    tmp_path: Path,
) -> None:
    (tmp_path / "runs").mkdir()
    names = tmp_path / "runs" / "names.kbench.zip"
    shutil.copyfile(CHECKOUT / "results" / "reference-coverage-keras2.kbench.zip", names)
    (tmp_path / "collection.toml").write_text('title = "T"\nkbench = ["0.1.0"]\n')
    (why,) = admit(names, collection.read(tmp_path)).refused
    assert why.refused == ("it tries public names, and collection.toml does not say public_names = true",)
    (tmp_path / "collection.toml").write_text('title = "T"\nkbench = ["0.1.0"]\npublic_names = true\n')
    to = collection.read(tmp_path)
    assert site.write(to, tmp_path / "out") == []
    page = (tmp_path / "out" / "names.html").read_text("utf-8")
    assert re.search(r'<a href="runs/names.html">keras2/theano, Keras 2\.[\d.]+, theano [\d.]+</a>', page)
    assert 'class="bad">raises</td>' in page and "not measured" not in page
    index = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert re.search(
        r'<dt>keras2/mxnet, Keras 2\.[\d.]+, mxnet [\d.]+</dt><dd><a href="runs/names.html">\d+ of', index
    )
    every = (tmp_path / "out" / "runs" / "names.coverage.html").read_text("utf-8")
    assert "layers.LSTM" in every and "names.coverage.html" in (tmp_path / "out" / "runs" / "names.html").read_text()

    forged = tmp_path / "forged"
    shutil.copyfile(names, packed.packed_file(forged))
    store.unpack(forged)
    packed.packed_file(forged).unlink()
    for cell in (one for one in (forged / "cells").iterdir() if "theano" in one.name):
        edit_events(cell, lambda event: event | {"outputs": []} if event["event"] == "case" else event)
    answer = submit(forged, to)
    (why,) = answer.refused
    assert why.name == "states"
    states = r"keras2/theano: \d+ of \d+ names are in other states in names \("
    assert any(re.match(states, one) for one in why.refused)


def test_its_history_is_that_of_all_runs_and_names_no_machine_as_this_one(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    for pack in sorted((CHECKOUT / "results" / "releases").glob("*.kbench.zip"))[:2]:
        shutil.copyfile(pack, tmp_path / "runs" / pack.name)
    (tmp_path / "collection.toml").write_text('title = "T"\nkbench = ["0.1.0"]\n[asked]\nprocesses = 1\n')
    assert site.write(collection.read(tmp_path), tmp_path / "out") == []
    index = (tmp_path / "out" / "index.html").read_text("utf-8")
    page = (tmp_path / "out" / "history.html").read_text("utf-8")
    assert '<a href="history.html">' in index and "names.html" not in index
    assert ">keras3/torch+keras=" not in index  # versions are no rivals
    assert "from 3.10.0 on, on AMD EPYC, 24 GiB" in index and "on this machine" not in index + page
    assert '<a href="index.html">kbench collection</a>' in page and page.count('<svg class="course"') >= 2
