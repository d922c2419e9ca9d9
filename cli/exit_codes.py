"""What an exit code says; docs/commands.md lists them. Usage errors (2) are click's, `SciretError` has its own."""

from __future__ import annotations

INCOMPLETE = 1
"""Something that was asked for could not be done; the rest was."""
REFUSED = 3
"""Some records were refused; the rest went in."""
INTERRUPTED = 130
"""What shells report for a program that Ctrl-C ended."""
