"""Colours of the page: those of the plots, and lighter ones for a dark ground."""

from __future__ import annotations

from colorsys import hls_to_rgb, rgb_to_hls

from matplotlib.colors import Colormap, LogNorm, to_hex, to_rgb

from kbench.plots.styles import luminance

_PAPER = "#14181d"  # the dark ground, as in page.css
_ENOUGH = 4.0  # contrast of a line with the ground; WCAG 2 asks for 3
# One of them has a contrast of 4.58 or more with any ground; WCAG 2 asks for 4.5.
_DARK_TEXT, _LIGHT_TEXT = "#000000", "#ffffff"


def on_dark(color: str) -> str:
    """The colour, as much lighter as a dark page needs, in the same hue."""
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


def heat(ratio: float, shades: tuple[LogNorm, Colormap]) -> tuple[str, str]:
    """Ground and text colour of a ratio, from the overview's `scale`."""
    norm, colors = shades
    ground = to_hex(colors(norm(ratio)))
    return ground, max(_DARK_TEXT, _LIGHT_TEXT, key=lambda text: contrast(text, ground))
