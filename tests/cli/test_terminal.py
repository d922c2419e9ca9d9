"""Foreign text on a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sciret.cli.terminal import harmless


@given(st.text())
def test_no_control_character_survives(text: str) -> None:
    """Whatever a record holds, printing it only prints."""
    shown = harmless(text)
    assert len(shown) == len(text)
    assert not any(c < " " or "\x7f" <= c <= "\x9f" for c in shown)


def test_escape_becomes_its_picture() -> None:
    assert harmless("a\x1b[31mb\x7f") == "a␛[31mb␡"


def test_direction_overrides_are_replaced() -> None:
    """A right-to-left override could show an id as another one."""
    assert "\u202e" not in harmless("abc\u202edef")


def test_lines_become_spaces_unless_kept() -> None:
    assert harmless("a\nb\tc") == "a b c"
    assert harmless("a\nb\tc", keep_lines=True) == "a\nb c"


def test_ordinary_text_is_untouched() -> None:
    assert harmless("Größe λ≥1 — 日本語 [red]") == "Größe λ≥1 — 日本語 [red]"
