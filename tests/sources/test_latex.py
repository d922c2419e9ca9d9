"""LaTeX to text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sciret.sources.latex import to_unicode, unescaped


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"\'etale \'etale {\'e}t{\'{e}} \'{e}", "étale étale été é"),
        (r"G{\"o}del, Erd{\H o}s, Dvo\v{r}{\'a}k, \v Cech", "Gödel, Erdős, Dvořák, Čech"),
        (r"\L{}ukasz S{\o}ren \o re Stra{\ss}e {\AA}", "Łukasz Søren øre Straße Å"),
        (r"Mart\'{\i}nez, Garc\'\i a", "Martínez, García"),
        (r"$\alpha$-helix, $x \in A$, $a \leq b$", "$α$-helix, $x ∈ A$, $a ≤ b$"),
        (r"50\% R\&D \$5 a\_b \{x\} \#1", "50% R&D $5 a_b {x} #1"),
        (r"\textit{In vivo} and \emph{more} {\it words} \LaTeX", "In vivo and more words LaTeX"),
        (r"a~b 5\,mm hy\-phen one\\two", "a b 5 mm hyphen one two"),
        ("rock 'n' {Roll}", "rock 'n' Roll"),
        ("plain text", "plain text"),
    ],
)
def test_latex_reads_as_text(latex: str, expected: str) -> None:
    """Accents, letters, symbols, escapes and formatting, also several of one kind in a text."""
    assert " ".join(to_unicode(latex).split()) == expected


def test_urls_keep_their_tildes() -> None:
    """Only the escapes of special characters are undone."""
    assert unescaped(r"http://x.org/~me/a\_b\%20c") == "http://x.org/~me/a_b%20c"


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="\\'\"{}~aioxu $%\n", max_size=40))
def test_any_text_is_converted(text: str) -> None:
    """Whatever is broken in it."""
    assert "\\" not in to_unicode(text)


def test_runs_of_spaces_are_read_once() -> None:
    """Nothing in a text makes the conversion look at the same place again and again: this would take hours."""
    assert to_unicode("\\'" + " " * 300_000 + "e") == "é"
