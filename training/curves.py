"""The training log as a picture: panels of lines, written as SVG by hand, so that no plotting library is needed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

Points = list[tuple[float, float]]

PANELS: Mapping[str, tuple[str, ...]] = {
    "loss": ("loss", "held_out"),
    "parts of the loss": ("contrast", "distillation", "flops", "words", "phrases"),
    "active features (log scale)": ("document_tokens", "document_keyphrases", "query_tokens", "query_keyphrases"),
    "share guessed right": ("words_right", "phrases_right"),
    "gradient norm": ("gradient",),
    "learning rate": ("rate",),
}
COLOURS = ("#1b6ca8", "#d1495b", "#3a7d44", "#8f5fbf")
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 480, 260, 62, 44, 20, 40
COLUMNS = 2
TICKS = 5
MOST = 500
"""Points of a line; more are averaged in groups."""


def draw_curves(lines: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write the picture of a log: the panels that there is something to show in."""
    series: dict[str, Points] = {}
    for line in lines:
        for name, value in line.items():
            if isinstance(value, int | float) and name not in ("step", "seconds") and math.isfinite(value):
                series.setdefault(name, []).append((line["step"], value))
    shown = {title: [n for n in names if n in series] for title, names in PANELS.items()}
    panels = [(title, {n: thinned(series[n]) for n in names}) for title, names in shown.items() if names]
    rows = -(-len(panels) // COLUMNS)
    size = f'width="{WIDTH * COLUMNS}" height="{max(1, rows) * HEIGHT}"'
    drawn = [_panel(number, title, lines_of) for number, (title, lines_of) in enumerate(panels)]
    style = "font-family: sans-serif; font-size: 11px"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="{style}"><rect {size} fill="white"/>'
    path.write_text("\n".join([head, *drawn, "</svg>\n"]), encoding="utf-8")


def thinned(points: Points) -> Points:
    """At most MOST points, each the mean of its neighbours."""
    group = -(-len(points) // MOST)
    parts = [points[i : i + group] for i in range(0, len(points), group)]
    return [(part[-1][0], sum(y for _, y in part) / len(part)) for part in parts]


@dataclass(frozen=True, slots=True)
class Axis:
    """From values to pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (_log(v) if self.log else v for v in (self.low, self.high, value))
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        if self.log:
            powers = range(math.floor(_log(self.low)), math.ceil(_log(self.high)) + 1)
            return [tick for tick in (10.0**p for p in powers) if self.low <= tick <= self.high]
        step = _nice((self.high - self.low) / TICKS)
        first = math.ceil(self.low / step - 1e-9)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _panel(number: int, title: str, lines: Mapping[str, Points]) -> str:
    x0, y0 = number % COLUMNS * WIDTH, number // COLUMNS * HEIGHT
    points = [point for each in lines.values() for point in each]
    across = Axis(0, max(1.0, *(x for x, _ in points)), LEFT, WIDTH - RIGHT)
    upward = _upward([y for _, y in points], log="log scale" in title)
    parts = [f'<g transform="translate({x0},{y0})">', _text(LEFT, 16, title, "font-weight: bold")]
    parts += [_grid(upward(t), t, "y") for t in upward.ticks()] + [_grid(across(t), t, "x") for t in across.ticks()]
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "step", "text-anchor: middle"))
    beside = float(LEFT)
    for place, (name, of) in enumerate(lines.items()):
        parts.append(_line([(across(x), upward(y)) for x, y in of], COLOURS[place]))
        label = name.replace("_", " ")
        parts.append(_text(beside, TOP - 12, label, f"fill: {COLOURS[place]}"))
        beside += 6.1 * len(label) + 8  # about as wide as letters of 11 pixels are
    return "\n".join([*parts, "</g>"])


def _upward(values: Sequence[float], log: bool) -> Axis:
    low, high = min(values), max(values)
    if log:
        return Axis(max(0.1, low / 1.5), max(1.0, high * 1.5), HEIGHT - BOTTOM, TOP, log=True)
    low = min(0.0, low)
    return Axis(low, high if high > low else low + 1, HEIGHT - BOTTOM, TOP)


def _grid(at: float, value: float, direction: str) -> str:
    label = f"{value:.3g}" if value < 1_000 else f"{value / 1000:g}k"
    if direction == "x":
        return _text(at, HEIGHT - BOTTOM + 15, label, "text-anchor: middle; fill: #555")
    rule = f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>'
    return rule + _text(LEFT - 6, at + 4, label, "text-anchor: end; fill: #555")


def _line(points: Points, colour: str) -> str:
    if len(points) == 1:
        return f'<circle cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="2.5" fill="{colour}"/>'
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" style="{style}">{escape(text)}</text>'


def _nice(step: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step * (1 - 1e-9))


def _log(value: float) -> float:
    return math.log10(max(value, 0.1))
