"""The picture of a log: well-formed, with the panels that there is data for."""

from __future__ import annotations

import xml.etree.ElementTree as Tree
from pathlib import Path

from sciret.training.curves import MOST, Axis, draw_curves, thinned
from sciret.training.journal import Journal

SVG = "{http://www.w3.org/2000/svg}"


def test_panels_are_those_with_something_to_show(tmp_path: Path) -> None:
    lines = [{"step": s, "loss": 10 / s, "rate": 0.001, "query_tokens": 50.0, "seconds": 1.0} for s in range(1, 30)]
    lines.append({"step": 29, "held_out": 1.5, "seconds": 2.0})
    lines.append({"step": 29, "loss": float("nan")})
    draw_curves(lines, tmp_path / "curves.svg")
    root = Tree.parse(tmp_path / "curves.svg").getroot()  # noqa: S314 (our own file)
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"loss", "held out", "learning rate", "active features (log scale)", "step"} <= set(texts)
    assert "gradient norm" not in texts
    assert len(list(root.iter(f"{SVG}polyline"))) == 3
    assert len(list(root.iter(f"{SVG}circle"))) == 1  # one evaluation is a point


def test_an_empty_log_is_an_empty_picture(tmp_path: Path) -> None:
    draw_curves([], tmp_path / "curves.svg")
    assert Tree.parse(tmp_path / "curves.svg").getroot().tag == f"{SVG}svg"  # noqa: S314


def test_many_points_become_means() -> None:
    points = thinned([(float(x), float(x % 2)) for x in range(10 * MOST)])
    assert len(points) == MOST
    assert {y for _, y in points} == {0.5}
    assert points[-1][0] == 10 * MOST - 1


def test_ticks_are_round() -> None:
    assert Axis(0, 23, 0, 1).ticks() == [0, 5, 10, 15, 20]
    assert Axis(0.5, 2000, 0, 1, log=True).ticks() == [1, 10, 100, 1000]


def test_a_log_is_rewound_to_a_step(tmp_path: Path) -> None:
    """And a line that was cut off when the machine went down is none."""
    journal = Journal(tmp_path / "log.jsonl")
    for step in (1, 2, 3):
        journal.write({"step": step})
    with journal.path.open("a", encoding="utf-8") as file:
        file.write('{"step": 4, "lo')
    assert [line["step"] for line in journal.read()] == [1, 2, 3]
    journal.rewind(2)
    assert [line["step"] for line in journal.read()] == [1, 2]
