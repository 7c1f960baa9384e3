"""Colours of the page: those of the pictures, and what they become on a dark ground."""

from __future__ import annotations

from collections.abc import Sequence
from colorsys import hls_to_rgb, rgb_to_hls

from matplotlib.colors import to_hex, to_rgb

from kbench.plots.look import luminance
from kbench.plots.overview import scale

_PAPER = "#14181d"  # the dark ground, as in page.css
_ENOUGH = 4.0  # contrast of a line with the ground; WCAG 2 asks for 3
_DARK_TEXT, _LIGHT_TEXT = "#000000", "#ffffff"  # of any ground one has a contrast of 4.58; WCAG 2 asks for 4.5


def on_dark(color: str) -> str:
    """The colour, lighter by as much as a dark page asks for: the same hue, so that it is known again."""
    hue, lightness, saturation = rgb_to_hls(*to_rgb(color))
    for percent in range(0, 100, 2):
        lighter = to_hex(hls_to_rgb(hue, lightness + (1 - lightness) * percent / 100, saturation))
        if contrast(lighter, _PAPER) >= _ENOUGH:
            return lighter
    return _LIGHT_TEXT


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours by WCAG 2, from 1 to 21."""
    light, dark = sorted((luminance(to_rgb(one)), luminance(to_rgb(other))), reverse=True)
    return (light + 0.05) / (dark + 0.05)


class Scale:
    """The colours of a run's ratios, as in the overview's picture."""

    def __init__(self, ratios: Sequence[float], both_sides: bool) -> None:
        self._norm, self._colors = scale(ratios, both_sides)

    def heat(self, ratio: float) -> tuple[str, str]:
        """Ground and text colour."""
        ground = to_hex(self._colors(self._norm(ratio)))
        return ground, max(_DARK_TEXT, _LIGHT_TEXT, key=lambda text: contrast(text, ground))
