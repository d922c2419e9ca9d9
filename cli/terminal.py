"""Foreign text on a terminal: nothing that a record holds may move the cursor, change colours or reorder lines."""

from __future__ import annotations

import re

# C0, DEL and C1 controls, and the characters that embed, override or isolate the direction of writing.
_HARMFUL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_SPACE = "\t\n\v\f\r\u2028\u2029"


def harmless(text: str, *, keep_lines: bool = False) -> str:
    """The text with white space as spaces, and controls as pictures of themselves (ESC becomes ␛)."""
    return _HARMFUL.sub(lambda match: _picture(match[0], keep_lines), text)


def _picture(character: str, keep_lines: bool) -> str:
    if character in _SPACE:
        return "\n" if keep_lines and character == "\n" else " "
    if character < "\x20":
        return chr(0x2400 + ord(character))
    return "\N{SYMBOL FOR DELETE}" if character == "\x7f" else "\N{REPLACEMENT CHARACTER}"
