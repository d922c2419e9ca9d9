"""Exporters talk a lot, to stdout and to loggers; a command's output is its own."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Within it, printed progress, warnings and log records below ERROR of other packages go nowhere.

    Failures still raise, and everything is as it was afterwards. Process-wide while it lasts: an export is a command
    of its own, not something to run beside other work in one process.
    """
    disabled = logging.root.manager.disable
    logging.disable(max(disabled, logging.WARNING))
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
