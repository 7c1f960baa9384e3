"""The published files themselves, where a mirror has them; else what comes with kbench, or the files to bring."""

from __future__ import annotations

import dataset_miniatures as miniatures
import numpy as np
import pytest
from original_data import MIRROR

from kbench import datasets
from kbench.datasets.registry import REGISTRY
from kbench.errors import UserError

NOWHERE = "http://127.0.0.1:9/"  # so that a machine without a mirror downloads nothing in a test


def prepared(name, tmp_path, monkeypatch, input="sequence"):
    """The dataset from the mirror, or None after the right sentence where there is none."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    mirror = MIRROR if MIRROR.is_dir() else None
    request = {"input": input, "image_data_format": "channels_last", "cache": tmp_path, "progress": False}
    variants = REGISTRY[name].variants
    if mirror and any(all((mirror / file.name).is_file() for file in files) for files in variants):
        return datasets.prepare(name, mirror=mirror, **request)
    if shipped := REGISTRY[name].shipped:
        return datasets.prepare(name, needed=(shipped.samples, shipped.validation_samples), **request)
    with pytest.raises(UserError, match=r"cannot be downloaded: .* KBENCH_DATA, or use --data synth"):
        datasets.prepare(name, registry=miniatures.with_addresses(REGISTRY, name, NOWHERE), **request)
    return None


def load(data, name):
    return np.load(data.folder / name, mmap_mode="r", allow_pickle=False)


def test_mnist(tmp_path, monkeypatch):
    data = prepared("mnist", tmp_path, monkeypatch, "image")
    x, y = load(data, data.train[0]), load(data, data.train_targets[0])
    whole = data.samples == 60_000
    assert x.shape == (60_000 if whole else 10_000, 28, 28, 1)
    assert load(data, data.validation[0]).shape == (10_000 if whole else 5_000, 28, 28, 1)
    assert y[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    assert round(float(x.mean()) / 255, 3) == 0.131  # the mean that every MNIST tutorial subtracts
    assert data.sha256 == "e5ccd04a034a95c6d89f7d1b71b4b805e7ec6093b20da5cf7b4426404a02fd2a"


def test_cifar10(tmp_path, monkeypatch):
    if data := prepared("cifar10", tmp_path, monkeypatch, "image"):
        x, y = load(data, data.train[0]), load(data, data.train_targets[0])
        assert x.shape == (50_000, 32, 32, 3) and load(data, data.validation[0]).shape == (10_000, 32, 32, 3)
        assert y[:10].tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]
        assert np.bincount(y).tolist() == [5000] * 10
        assert x[0, 0, :2].tolist() == [[59, 62, 63], [43, 46, 45]]  # the frog that comes first
        assert data.sha256 == "aaae072104d13ee1f6e02ad0aa7f3017690fdb11a4172adec44c7f2f315e6757"


def test_babi(tmp_path, monkeypatch):
    data = prepared("babi_qa2", tmp_path, monkeypatch)
    assert data.input_shapes == ((552,), (5,)) and data.num_classes == 36
    y = [load(data, name) for name in (*data.train_targets, *data.validation_targets)]
    assert [len(part) for part in y] == [950, 50]
    assert len(set(y[0])) == 6
    assert data.sha256 == "678938235214dee0a73a32e8209cd123255eb0b82909bcf6f2ae7951762dfafa"


def test_imdb(tmp_path, monkeypatch):
    if data := prepared("imdb", tmp_path, monkeypatch):
        for files, labels in ((data.train, data.train_targets[0]), (data.validation, data.validation_targets[0])):
            x, y = load(data, files[0]), load(data, labels)
            assert x.shape == (25_000, 150) and x.dtype == np.int32
            assert int(x.min()) == 0 and int(x.max()) == 29_999
            assert int(y.sum()) == 12_500
            assert all(0.4 < y[:samples].mean() < 0.6 for samples in (200, 1000, 5000))
