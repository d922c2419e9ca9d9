"""How large things may be. A record beyond any of these is refused, and no reader holds more than one in memory."""

from __future__ import annotations

LINE_BYTES = 16 * 1024 * 1024
BLOCK_CHARS = 1024 * 1024
"""One BibTeX entry or RIS record, all its lines together."""
BEGINNING_BYTES = 1000
"""How much the rejects file shows of something too long to keep whole."""

ID_CHARS = 512
TEXT_CHARS = 5_000
"""Title, venue, one author, one keyword, ...: every text but the abstract."""
ABSTRACT_CHARS = 200_000
LIST_ITEMS = 10_000
EXTRA_CHARS = 100_000
"""`extra` written as JSON."""
JSON_DEPTH = 32
INTEGERS = range(-(2**63), 2**63)
"""What every store and every JSON reader keeps exactly."""
YEARS = range(1000, 2101)
MACROS = 10_000
"""@string definitions of one BibTeX file."""
