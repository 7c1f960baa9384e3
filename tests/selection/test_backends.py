"""Backends' files: the shipped ones are whole, a wrong one is refused in one sentence that names the key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fake_backends import write_backend
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from kbench.base import paths
from kbench.environments import packages
from kbench.errors import UserError
from kbench.records.backend_keys import PLACEHOLDERS
from kbench.records.values import Backend, Build, is_among
from kbench.selection import backends

SHIPPED = backends.load_all(paths.project_folder("backends"))
BUILDS = [
    pytest.param(backend, build, id=f"{backend.name}-{build.name}")
    for backend in SHIPPED.values()
    for build in backend.builds
]


def test_each_backend_is_loaded_by_the_path_of_its_file_in_a_stable_order() -> None:
    files = paths.project_folder("backends").glob("*/*.toml")
    names = sorted(f"{file.parent.name}/{file.stem}" for file in files)
    assert list(SHIPPED) == sorted(names, key=lambda name: name.startswith(("native/", "export/")))
    assert {"keras2/tensorflow", "keras2/cntk", "keras2/theano", "keras3/jax"} <= set(SHIPPED)


def test_every_backend_has_a_cpu_build_first_and_a_colour_of_its_own() -> None:
    assert all(backend.builds[0].device == "cpu" for backend in SHIPPED.values() if not backend.unavailable)
    assert len({backend.color for backend in SHIPPED.values()}) == len(SHIPPED)


def test_a_backend_that_cannot_train_says_why() -> None:
    for backend in SHIPPED.values():
        assert ("train" in backend.can) or backend.cannot


@pytest.mark.parametrize(("backend", "build"), BUILDS)
def test_the_lock_holds_each_requirement_exactly_with_hashes(backend: Backend, build: Build) -> None:
    if build.lock is None:
        assert not build.requirements
        return
    text = build.lock.read_text()
    pinned = dict(re.findall(r"^([\w.-]+)==([^\s;\\]+)", text, re.MULTILINE))
    of_debian = packages.pinned(build.debian_lock.read_text()) if build.debian_lock else {}
    assert {canonicalize_name(name) for name in build.debian} <= set(of_debian)
    for requirement in map(Requirement, build.requirements):
        version = pinned[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version, prereleases=True)
    assert text.count("--hash=sha256:") >= len(pinned)
    assert canonicalize_name(build.distribution) in {**pinned, **of_debian}
    assert "://" not in text


@pytest.mark.parametrize(("backend", "build"), BUILDS)
def test_a_gpu_build_that_nobody_ran_says_so(backend: Backend, build: Build) -> None:
    assert (build.device == "cpu") or build.note.startswith("not run on hardware")


@pytest.mark.parametrize("name", [name for name, one in SHIPPED.items() if one.kind == "native" and one.builds])
def test_a_native_backend_has_the_locked_gpu_builds_of_its_keras_backend(name: str) -> None:
    def gpu_builds(one: Backend) -> list[tuple[object, ...]]:
        found = [build for build in one.builds if build.device == "gpu" and build.lock]
        return [
            (build.name, build.compute_capability, build.driver, build.variables.get("NVIDIA_TF32_OVERRIDE"))
            for build in found
        ]

    native = SHIPPED[name]
    for keras in SHIPPED.values():
        if keras.kind == "keras" and keras.framework == native.framework:
            assert gpu_builds(native) == gpu_builds(keras)


def test_every_variable_of_a_file_can_be_filled_in() -> None:
    for backend in SHIPPED.values():
        for table in (backend.variables, *(build.variables for build in backend.builds)):
            for value in table.values():
                assert set(re.findall(r"\{(.*?)\}", value)) <= set(PLACEHOLDERS)


@pytest.mark.parametrize(
    ("more", "more_build", "key", "says"),
    [
        ('colour = "#000000"', "", "colour", "did you mean `color`?"),
        ("", '[builds.variables]\n"A=B" = "x"', "variables", "a table of variables' names"),
        ("", '[builds.variables]\nA = "x\\u0000"', "variables", "a table of variables' names"),
        ("ordered_updates = 1", "", "ordered_updates", "true or false"),
        ("shared_libpython = 1", "", "shared_libpython", "true or false"),
        ('notes = "one"', "", "notes", "a list of texts"),
        ('[variables]\nA = "{home}"', "", "variables", "placeholders"),
        ('[recurrent]\nLSTM = "rolled"', "", "recurrent", "unrolled"),
        ('[compiled]\n"x.so" = "x.c"', "", "compiled", "x.c next to it"),
        ("", "compute_capability = [9, 3]", "compute_capability", "the lowest and the highest"),
        ("", 'drivers = "1"', "drivers", "did you mean `driver`?"),
        ("", 'driver = "new"', "driver", "a driver version"),
        ("", 'debian = ["a"]', "debian", "tiny.cpu.debian.lock next to it"),
        ("", 'lock = "../keras8/other.lock"', "lock", "../keras8/other.lock next to it"),
        ("", "lock = 1", "lock", "the path of a lock file"),
        ("", "zebra = 1", "zebra", "the keys are"),
    ],
)
def test_a_wrong_file_is_refused_by_name_and_key(
    tmp_path: Path, more: str, more_build: str, key: str, says: str
) -> None:
    path = write_backend(tmp_path, more=more, more_build=more_build)
    with pytest.raises(UserError) as refused:
        backends.load(path)
    text = str(refused.value)
    assert "keras9/tiny.toml" in text and key in text and says in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('color = "#0072B2"', 'color = "blue"', "a colour such as"),
        ('color = "#0072B2"', "", "lacks the key `color`"),
        ('can = ["train", "infer"]', 'can = ["infer"]', "must say in `cannot`"),
        ('can = ["train", "infer"]', 'can = ["fly"]', "train and infer"),
        ('"channels_first"', '"NCHW"', "channels_first or channels_last"),
        ('["tiny-backend==1.0"]', '["tiny backend 1"]', "a list of requirements"),
        ("[[builds]]", "[builds]", "at least one [[builds]] table"),
        ('name = "cpu"', 'name = "CPU 1"', "a name of small letters"),
        ("title =", "title", "is not valid TOML"),
        ('name = "cpu"', 'name = "other"', "tiny.other.lock next to it"),
    ],
)
def test_a_changed_file_is_refused_with_what_is_expected(tmp_path: Path, old: str, new: str, says: str) -> None:
    path = write_backend(tmp_path)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(UserError, match=re.escape(says)):
        backends.load(path)


def test_a_build_may_take_the_lock_of_another_backend(tmp_path: Path) -> None:
    path = write_backend(tmp_path, more_build='lock = "../shared/all.lock"')
    (tmp_path / "shared").mkdir()
    lock = path.with_name("tiny.cpu.lock").rename(tmp_path / "shared" / "all.lock")
    assert backends.load(path).builds[0].lock == lock


def test_no_two_files_of_the_shipped_backends_have_the_same_contents() -> None:
    files = [path for path in paths.project_folder("backends").rglob("*") if path.is_file()]
    assert len({path.read_bytes() for path in files}) == len(files)


def test_keras_may_be_told_a_module_of_a_package(tmp_path: Path) -> None:
    path = write_backend(tmp_path)
    path.write_text(path.read_text().replace('"tiny"', '"tiny.keras.backend"'))
    made = backends.load(path)
    assert made.keras_backend == "tiny.keras.backend" and made.imported == ("keras", "tiny")


def test_two_builds_of_one_name_are_refused(tmp_path: Path) -> None:
    path = write_backend(tmp_path)
    path.write_text(path.read_text() + path.read_text().partition("[[builds]]")[2].join(("[[builds]]", "")))
    with pytest.raises(UserError, match="two builds of one name"):
        backends.load(path)


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        backends.load(tmp_path / "keras9" / "none.toml")
    with pytest.raises(UserError, match="no backend's file"):
        backends.load_all(tmp_path)


def test_paths_are_absolute_whatever_folder_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_backend(tmp_path)
    monkeypatch.chdir(tmp_path)
    lock = backends.load(Path("keras9/tiny.toml")).builds[0].lock
    assert lock is not None and lock.is_absolute()


def test_a_build_names_its_own_distribution_or_takes_the_backends(tmp_path: Path) -> None:
    assert backends.load(write_backend(tmp_path)).builds[0].distribution == "tiny-backend"
    other = backends.load(write_backend(tmp_path, more_build='distribution = "tiny-gpu"'))
    assert other.builds[0].distribution == "tiny-gpu"


def test_a_file_that_is_nested_too_deeply_is_one_sentence(tmp_path: Path) -> None:
    path = write_backend(tmp_path, more=f"a = {'[' * 3000}{']' * 3000}")
    with pytest.raises(UserError, match=r"keras9/tiny\.toml is nested too deeply"):
        backends.load(path)


FORMULAS = """
[epsilon]
what = ["1 step"]
bound = 0.1
reason = "Another epsilon."

[relu]
told_of = "half"
what = ["1 step"]
bound = 0.1
reason = "Half of a relu."
"""


def test_backends_with_another_formula_are_explained_and_those_with_the_same_or_none_are_not(tmp_path: Path) -> None:
    own, further = tmp_path / "own", tmp_path / "further"
    for folder, name, formulas in (
        (own, "a", '[formulas]\nepsilon = "under"\nrelu = "half"'),
        (own, "b", '[formulas]\nepsilon = "beside"\nrelu = "whole"'),
        (own, "silent", ""),
        (further, "c", '[formulas]\nepsilon = "under"'),
    ):
        path = write_backend(folder, more=formulas)
        for file in (path, path.with_name("tiny.cpu.lock")):
            file.rename(file.with_name(file.name.replace("tiny", name)))
    (own / "formulas.toml").write_text(FORMULAS)
    known = backends.load_all(own, further)
    assert {name: [(known.reason, known.unlike) for known in one.explained] for name, one in known.items()} == {
        "keras9/a": [("Another epsilon.", ("keras9/b",)), ("Half of a relu.", ("keras9/b",))],
        "keras9/b": [("Another epsilon.", ("keras9/a", "keras9/c"))],
        "keras9/silent": [],
        "keras9/c": [("Another epsilon.", ("keras9/b",))],
    }


def test_a_formula_that_is_not_described_is_refused_with_the_one_that_was_meant(tmp_path: Path) -> None:
    write_backend(tmp_path, more='[formulas]\nepsilom = "under"')
    with pytest.raises(UserError, match=r"keras9/tiny\.toml has an unknown formula `epsilom`: .* has no formula"):
        backends.load_all(tmp_path)
    (tmp_path / "formulas.toml").write_text(FORMULAS)
    with pytest.raises(UserError, match="did you mean `epsilon`"):
        backends.load_all(tmp_path)


def test_a_damaged_formula_is_refused_in_a_sentence(tmp_path: Path) -> None:
    write_backend(tmp_path)
    (tmp_path / "formulas.toml").write_text(FORMULAS.replace("0.1", '"much"', 1))
    with pytest.raises(UserError, match=r"formulas\.toml has a wrong `bound`"):
        backends.load_all(tmp_path)


def test_all_backends_of_a_shipped_formula_state_one_that_another_backend_does_not_have() -> None:
    stated = [one.formulas for one in SHIPPED.values()]
    for name in {name for one in stated for name in one}:
        assert len({one[name] for one in stated if name in one}) == 2, name


def test_what_is_known_of_a_backend_is_known_of_its_versions_and_settings() -> None:
    assert is_among("keras3/jax@0.9+jit=off", ["keras3/jax"])
    assert is_among("keras3/jax@0.9", ["keras3"])
    assert not is_among("keras3/jax@0.9", ["keras3/torch", "keras2"])


def test_a_file_may_begin_with_the_mark_of_an_editor(tmp_path: Path) -> None:
    path = write_backend(tmp_path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert backends.load(path).name == "keras9/tiny"
