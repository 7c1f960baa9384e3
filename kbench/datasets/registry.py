"""The known datasets: their published files, addresses and digests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True)
class Member:
    """One file inside an archive, read only if its name, its size and its digest are these."""

    name: str  # as the archive spells it, folders included
    digest: str  # "md5:..." or "sha256:..."
    size: int  # bytes
    samples: int = 0  # rows in it, where its reader must know that beforehand


@dataclass(frozen=True)
class RemoteFile:
    """One published file, verified by its own digest, or by its members' if archives differ."""

    name: str  # in the user's folder and in the cache
    addresses: tuple[str, ...]  # tried in order; empty if the user must provide it
    digest: str = ""  # of the file from any origin; empty if the members' digests decide
    download_digest: str = ""  # of the file at its addresses, where only that is known
    members: tuple[Member, ...] = ()

    @property
    def digests(self) -> tuple[str, ...]:
        """The file's own digest, or those of its members."""
        return (self.digest,) if self.digest else tuple(member.digest for member in self.members)


@dataclass(frozen=True)
class Shipped:
    """The first samples of a dataset, which come with kbench in the folder `datasets`."""

    files: tuple[RemoteFile, ...]
    samples: int  # to train on
    validation_samples: int
    # Form of input -> hash of the whole dataset's arrays, where these are only their beginning: runs on the part and
    # on the whole compare. A test compares the part with the originals.
    sha256: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """A dataset by name. `variants` are alternative sets of files for the same samples, best first."""

    title: str  # one line for people
    inputs: tuple[str, ...]  # the forms it can be prepared in
    variants: tuple[tuple[RemoteFile, ...], ...] = ()  # empty if it is generated
    shipped: Shipped | None = None


Registry = Mapping[str, Dataset]

_MNIST_ADDRESSES = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)


def _mnist(name: str, sha256: str) -> RemoteFile:
    addresses = tuple(address + name for address in _MNIST_ADDRESSES)
    return RemoteFile(name, addresses, digest=f"sha256:{sha256}")


MNIST = (
    _mnist("train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"),
    _mnist("train-labels-idx1-ubyte.gz", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"),
    _mnist("t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"),
    _mnist("t10k-labels-idx1-ubyte.gz", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"),
)


def _cut_mnist(name: str, sha256: str) -> RemoteFile:
    return RemoteFile(f"mnist/{name}-ubyte.gz", (), digest=f"sha256:{sha256}")


_IMAGES_SHA256 = "e5ccd04a034a95c6d89f7d1b71b4b805e7ec6093b20da5cf7b4426404a02fd2a"
CUT_MNIST = Shipped(
    (
        _cut_mnist(
            "train-first-10000-images-idx3", "36707bfd63bcc1baf911512db8f40af1940d9fc513cb862f99741a994da05181"
        ),
        _cut_mnist(
            "train-first-10000-labels-idx1", "ddb336c35d26d6499f325832214cfd852954d037817de7f291d8e80ad0912b32"
        ),
        _cut_mnist("t10k-first-5000-images-idx3", "c85552917b3ffa3e214fef4a63e10bc01d4a644b9a36df785578194fb81cb45c"),
        _cut_mnist("t10k-first-5000-labels-idx1", "f03a8036e422be8e885363da42b342cc92bd78f67b1eb46e609b5ad6d9cd3024"),
    ),
    samples=10_000,
    validation_samples=5_000,
    sha256={
        "image": _IMAGES_SHA256,
        "sequence": _IMAGES_SHA256,
        "flat": "3eedbb6748f75e00bd0b06c070870bba2cc553fa88f21dc0a2d48f36551520e2",
    },
)

# Mirrors often repack the archive, so the digests of its batches count.
_BATCHES = "cifar-10-batches-py/"
CIFAR10 = RemoteFile(
    "cifar-10-python.tar.gz",
    ("https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",),
    download_digest="md5:c58f30108f718f92721af3b95e74349a",
    members=(
        Member(_BATCHES + "data_batch_1", "md5:c99cafc152244af753f735de768cd75f", 31_035_704, 10_000),
        Member(_BATCHES + "data_batch_2", "md5:d4bba439e000b95fd0a9bffe97cbabec", 31_035_320, 10_000),
        Member(_BATCHES + "data_batch_3", "md5:54ebc095f3ab1f0389bbae665268c751", 31_035_999, 10_000),
        Member(_BATCHES + "data_batch_4", "md5:634d18415352ddfa80567beed471001a", 31_035_696, 10_000),
        Member(_BATCHES + "data_batch_5", "md5:482c414d41f54cd18b22e5b47cb7c3cb", 31_035_623, 10_000),
        Member(_BATCHES + "test_batch", "md5:40351d587109b95175f43aff81a1287e", 31_035_526, 10_000),
    ),
)

_QA2 = "tasks_1-20_v1-2/en/qa2_two-supporting-facts_"
BABI = RemoteFile(
    "babi_tasks_1-20_v1-2.tar.gz",
    ("https://s3.amazonaws.com/text-datasets/babi_tasks_1-20_v1-2.tar.gz",),
    members=(
        Member(
            _QA2 + "train.txt", "sha256:a4978af5bc0dc30191810e7c9949aaa6eae939ed0f6beb9fcb5f4330c2a27860", 177_412
        ),
        Member(_QA2 + "test.txt", "sha256:eff93fb9cd81ba02eb765772cf7cc269769ed44ec71cbbbc19cfb16ee5eba0f6", 179_835),
    ),
)
# All of task 2 in an archive of its own, whose members are those of the original.
CUT_BABI = Shipped(
    (RemoteFile("babi/babi_tasks_1-20_v1-2.tar.gz", (), members=BABI.members),), samples=950, validation_samples=50
)

IMDB_KERAS = RemoteFile(
    "imdb.npz",
    ("https://storage.googleapis.com/tensorflow/tf-keras-datasets/imdb.npz",),
    digest="sha256:69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f",
)
# The same reviews in another order and without pickles, for users with their own copy.
IMDB_RANKS = RemoteFile(
    "imdb_ranks.npz",
    (),
    digest="sha256:73ed9d3c329aa7852c4f5edafd8e0b41c8302087a95c2a9639eaf66bad322a9c",
)

# A play of the Canterbury corpus, in Brotli's tests as it was published. It comes with kbench as a whole.
PLAY = RemoteFile(
    "asyoulik.txt",
    ("https://raw.githubusercontent.com/google/brotli/v1.1.0/tests/testdata/asyoulik.txt",),
    digest="sha256:eaa3526fe53859f34ecdf255712f9ecf0b2c903451d4755b2edaa2e2599cb0fc",
)
SHIPPED_PLAY = Shipped(
    (
        RemoteFile(
            "shakespeare/asyoulik.txt.gz",
            (),
            digest="sha256:fe0d77ac5ed18970926a043d4b07099e2bdcc550875265de70bcc60c5dba1c35",
        ),
    ),
    samples=7_000,
    validation_samples=190,
)

REGISTRY: Registry = MappingProxyType(
    {
        "mnist": Dataset(
            "MNIST: 28x28 handwritten digits, 60,000 to train and 10,000 to validate",
            ("image", "flat", "sequence"),
            (MNIST,),
            CUT_MNIST,
        ),
        "cifar10": Dataset(
            "CIFAR-10: 32x32 colour images of 10 classes, 50,000 to train and 10,000 to validate",
            ("image", "flat", "sequence"),
            ((CIFAR10,),),
        ),
        "babi_qa2": Dataset(
            "bAbI task 2 (two supporting facts), English: 950 stories to train and 50 to validate",
            ("sequence",),
            ((BABI,),),
            CUT_BABI,
        ),
        "imdb": Dataset(
            "IMDB: film reviews of 150 tokens, 25,000 to train and 25,000 to validate",
            ("sequence",),
            ((IMDB_KERAS,), (IMDB_RANKS,)),
        ),
        "shakespeare": Dataset(
            "As You Like It (a play): 7,000 pieces of 64 characters to train and 190 to validate",
            ("sequence",),
            ((PLAY,),),
            SHIPPED_PLAY,
        ),
        "random_images": Dataset("1,280 uniform random images, 224x224x3, without labels", ("image",)),
    }
)
