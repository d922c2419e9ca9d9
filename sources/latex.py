"""LaTeX in BibTeX fields to plain Unicode text.

bibtexparser has the table of symbols but not a converter to rely on: a second `\\'e` in a text comes out wrong, and
`'n` becomes one letter. So the symbols are its, and accents, escapes and unknown macros are read here in one pass each.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache

_MARKS = {
    "`": "\u0300",
    "'": "\u0301",
    "^": "\u0302",
    "~": "\u0303",
    '"': "\u0308",
    "=": "\u0304",
    ".": "\u0307",
    "u": "\u0306",
    "v": "\u030c",
    "H": "\u030b",
    "c": "\u0327",
    "d": "\u0323",
    "b": "\u0331",
    "r": "\u030a",
    "k": "\u0328",
}
# The braces around an accented letter may be taken in halves: all that are not escaped go in the end.
_ACCENT = re.compile(
    r"""\\(?:([`'^"~=.])\s*|([uvHcdbrk])(?:\s+|(?=\{)))(?:\{\s*)?(\\[ij](?![A-Za-z])\s*|[A-Za-z])(?:\s*\})?"""
)
_MACRO = re.compile(r"\\([A-Za-z]+)(\s*(?=\{)|\s*)")
_SYMBOL = re.compile(r"\{?\\([A-Za-z]+) ?\}?")
_BRACE = re.compile(r"(?<!\\)[{}]")
_ESCAPE = re.compile(r"\\(.?)", re.DOTALL)
_TIE = re.compile(r"(?<!\\)~")
_SILENT = frozenset("-/()[]@")
_KEPT = frozenset("&%$#_{}")
_MISSING = {  # from the table
    **{"times": "×", "le": "≤", "ge": "≥", "ne": "≠", "to": "→", "degree": "°", "textmu": "μ"},
    **{"S": "§", "copyright": "©", "pounds": "£", "dots": "…"},
}
_SWITCHES = frozenset(
    ("it", "bf", "em", "rm", "sc", "sf", "tt", "sl", "itshape", "bfseries", "small", "large", "noopsort")
)


def to_unicode(text: str) -> str:
    """Accents and symbols as characters, formatting dropped with its content kept, math left between its dollars."""
    if "\\" in text:
        text = text.replace(r"\\", " ")  # a line break, which must not be taken for the beginning of a macro
        text = _MACRO.sub(_macro, _ACCENT.sub(_accented, text))
    if "{" in text or "}" in text:
        text = _BRACE.sub("", text)
    if "~" in text:
        text = _TIE.sub(" ", text)
    return _ESCAPE.sub(_unescaped, text) if "\\" in text else text


def unescaped(text: str) -> str:
    """For URLs and DOIs, where only the escapes of special characters are LaTeX."""
    return re.sub(r"\\([&%$#_{}~])", r"\1", _BRACE.sub("", text))


def _accented(match: re.Match[str]) -> str:
    letter = match[3].removeprefix("\\").rstrip()
    return unicodedata.normalize("NFC", letter + _MARKS[match[1] or match[2]])


def _macro(match: re.Match[str]) -> str:
    name, space = match[1], match[2]
    symbol = symbols().get(name)
    if symbol:
        # As in TeX the space after a letter's macro ends the macro: `\o re` is one word. After α or ≤ it is kept.
        return symbol if ord(symbol) < 0x250 and symbol.isalpha() else symbol + space
    if name in _SWITCHES or match.string.startswith("{", match.end()):
        return ""
    return name + space


def _unescaped(match: re.Match[str]) -> str:
    if match[1] in _KEPT:
        return match[1]
    return "" if match[1] in _SILENT else " "


@cache
def symbols() -> Mapping[str, str]:
    """Macro name to character, from bibtexparser's table."""
    from bibtexparser.latexenc import unicode_to_crappy_latex2, unicode_to_latex

    found = dict(_MISSING)
    for character, latex in (*unicode_to_latex, *unicode_to_crappy_latex2):
        match = _SYMBOL.fullmatch(latex)
        # Characters past U+FFFF have lost a digit in the table and stand in a range of Hangul instead.
        if match and len(character) == 1 and not unicodedata.combining(character) and character < "\ud7b0":
            found.setdefault(match[1], character)
    return found
