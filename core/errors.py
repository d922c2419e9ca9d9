"""The errors a user can meet. Every message says what is wrong and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping


class SciretError(Exception):
    """Anything sciret refuses to do; the CLI prints it without a traceback and exits with `exit_code`."""

    exit_code = 1


class SettingsError(SciretError):
    """An option, environment variable or line of `sciret.toml` that cannot be used."""

    exit_code = 2


class QueryError(SciretError):
    """A query, filter or paper id that the store cannot answer."""

    exit_code = 2


class BundleError(SciretError):
    """A model bundle that is missing, damaged, or not what its `bundle.json` says."""


class StoreError(SciretError):
    """A store that cannot be opened, read or written."""


class PapersRefusedError(StoreError):
    """The store took a write but for some of its papers, which it would refuse again: `refused` has why, by id."""

    def __init__(self, where: str, refused: Mapping[str, str], written: int) -> None:
        paper_id, reason = next(iter(refused.items()))
        super().__init__(
            f"{where} refused {len(refused)} of {len(refused) + written} papers, such as {paper_id!r}: {reason}; "
            f"correct or leave out those, the others are written"
        )
        self.refused = refused
        self.written = written


class WrongModelError(StoreError):
    """The store was filled by another encoder than the one at hand: scores would be meaningless."""

    def __init__(self, where: str, stored: str, given: str) -> None:
        super().__init__(
            f"{where} was filled by the model {stored[:12]}…, but this encoder is {given[:12]}…. "
            f"Use the model it was filled by (--model), or ingest into a new store with this one; on OpenSearch, "
            f"`sciret index migrate` gives the store another model."
        )
        self.stored = stored
        self.given = given


class RecordError(SciretError):
    """One record of a source that is refused. `where` is file and line, `raw` what to put into the rejects file."""

    def __init__(self, where: str, reason: str, raw: str = "", record_id: str | None = None) -> None:
        super().__init__(f"{where}: {reason}")
        self.where = where
        self.reason = reason
        self.raw = raw
        self.record_id = record_id


class MissingExtraError(SciretError):
    """A command needs packages that the small runtime install leaves out."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs packages that are not installed: pip install 'sciret[{extra}]'")
        self.extra = extra
