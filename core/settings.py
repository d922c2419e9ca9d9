"""Settings: options win over `SCIRET_*` variables, those over `sciret.toml`, those over the defaults here."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from sciret.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Settings:
    """The defaults of search were chosen by measurement: docs/defaults.md has the figures."""

    store: str = "sciret.db"
    model: str = "default"
    """Name of a bundle that ships with sciret, or a bundle's folder; several with commas between."""
    device: str = "auto"
    threads: int = 0
    """CPU threads for encoding; 0 means one per core."""
    k: int = 10
    candidates: int = 100
    lambda_: float = 0.65
    sparse: str = "auto"
    """BM25 and CASPER where the store's papers have learned features, BM25 alone elsewhere."""
    beta: float | None = None
    """What a keyphrase counts beside a token with CASPER; what the model was made for, unless it is set."""
    rerank: str = "transport"
    rerank_weight: float = 0.1
    """Share of the sentence match in the final score; the rest is the fused score."""
    aspect_weight: float = 0.8
    """The same for a search by some of a paper's sentences."""
    exact: bool = False
    """On OpenSearch: candidates by exact scores of all papers instead of the index of nearest neighbours."""
    query_log: bool = False
    """On OpenSearch: keep what was asked, for the dashboards of searches."""
    ingest_events: bool = True
    """On OpenSearch: keep how ingests went, for the dashboards of ingests."""
    opensearch_user: str = ""
    opensearch_password: str = field(default="", repr=False)
    opensearch_password_file: str = ""
    opensearch_ca: str = ""
    """File of certificates to trust instead of the system's."""
    opensearch_cert: str = ""
    opensearch_key: str = ""
    opensearch_aws: str = ""
    """Region of a domain of AWS: requests are signed."""
    opensearch_insecure: bool = False
    """TLS without looking at the server's certificate."""

    @property
    def models(self) -> list[str]:
        """The bundles that `model` names."""
        return self.model.split(",")


_TYPES = get_type_hints(Settings)


def load_settings(
    options: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None, folder: Path | None = None
) -> Settings:
    """Options that are None were not given. Unknown names are errors: a typing mistake must not be silent."""
    environ = os.environ if environ is None else environ
    layers = (_from_file((folder or Path.cwd()) / "sciret.toml"), _from_environ(environ), _given(options or {}))
    settings = Settings()
    for layer in layers:
        settings = replace(settings, **layer)
    return settings


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _from_file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path.name}: {error}") from error
    return {_field(name, path.name): _typed(name, value, path.name) for name, value in content.items()}


def _from_environ(environ: Mapping[str, str]) -> dict[str, Any]:
    known = {f"SCIRET_{f.name.rstrip('_').upper()}": f.name.rstrip("_") for f in fields(Settings)}
    return {_field(name, key): _typed(name, environ[key], key) for key, name in known.items() if environ.get(key)}


def _field(name: str, where: str) -> str:
    attribute = "lambda_" if name == "lambda" else name.replace("-", "_")
    if attribute not in _TYPES:
        names = ", ".join(f.name.rstrip("_") for f in fields(Settings))
        raise SettingsError(f"{where}: there is no setting {name!r}; there are {names}")
    return attribute


def _typed(name: str, value: Any, where: str) -> Any:
    kind = _TYPES[_field(name, where)]
    kind = float if kind == float | None else kind
    if kind is bool:
        return _switch(name, value, where)
    try:
        # What kind() would quietly make something of: true is 1, 2.5 is 2, and a list is its own text.
        if isinstance(value, bool) or (kind is int and isinstance(value, float)):
            raise ValueError
        if kind is str and not isinstance(value, str):
            raise ValueError
        return kind(value)
    except (TypeError, ValueError):
        shown = "what is there" if name.endswith("password") else repr(value)
        raise SettingsError(f"{where}: {name} must be of type {kind.__name__}, not {shown}") from None


def _switch(name: str, value: Any, where: str) -> bool:
    """true and false in a file; a variable has no types, so 1, yes and on are as good there."""
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in words:
        return words[value.strip().lower()]
    raise SettingsError(f"{where}: {name} must be true or false, not {value!r}")
