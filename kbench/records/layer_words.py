"""The words that describe a model's layers, by which a backend's file names models: see `[[explained]]`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

# Of a layer with padding "same", where that may need more on one side: with strides, or a window of even size.
UNEVEN = "uneven padding"


def words(layers: Iterable[tuple[str, Mapping[str, object]]]) -> set[str]:
    """Classes, all texts that they are set to, the names of settings that are on, UNEVEN.

    layers: (class name, settings) of each.
    """
    found = set[str]()
    for class_name, settings in layers:
        found |= {class_name, *_texts(settings), *([UNEVEN] if _pads_unevenly(settings) else [])}
    return found


def _pads_unevenly(settings: Mapping[str, object]) -> bool:
    if settings.get("padding") != "same":
        return False
    windows = [*_numbers(settings.get("kernel_size")), *_numbers(settings.get("pool_size"))]
    return any(one > 1 for one in _numbers(settings.get("strides"))) or any(one % 2 == 0 for one in windows)


def _numbers(value: object) -> Sequence[int]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, int)]


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    if isinstance(value, dict):
        yield from (name for name, one in value.items() if one is True)
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(one)
