"""Model bundle: the folder that onnx_export writes and encoders read. docs/bundle.md describes every field."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Literal, get_args

from sciret.encoders.learned import BETA, MASS, MOST
from sciret.errors import BundleError

FORMAT = 1
SHIPPED = Path(__file__).parent / "bundles"
TOKENIZER = "tokenizer.json"
KEYPHRASES = "keyphrases.txt"
FEATURES = "features.npz"
ROLES = "roles.npz"
GRAPHS: Mapping[str, str] = {"fp32": "model.onnx", "int8": "model.int8.onnx"}

Precision = Literal["fp32", "int8"]
Output = Literal["dense", "sentences", "tokens", "keyphrases"]
OUTPUTS: tuple[Output, ...] = get_args(Output)
QueryPart = Literal["weighted", "encoded", "both"]

_VECTORS = {"dense", "sentences"}
_SPARSE = ({"tokens"}, {"tokens", "keyphrases"})


@dataclass(frozen=True, slots=True)
class Sparse:
    """How the weights that a graph gives become the sparse vectors of papers and queries."""

    beta: float = BETA
    """What a keyphrase counts beside a wordpiece."""
    mass: float = MASS
    """Share of a vector's sum that pruning keeps."""
    query_features: int = MOST
    query_tokens: QueryPart = "encoded"
    """`encoded`: the graph reads the query. `weighted`: its words have fixed weights, and no graph has to run. `both`:
    the sum, so that what is read of a query does not outweigh its own words."""
    query_keyphrases: QueryPart = "encoded"

    def __post_init__(self) -> None:
        numbers = isinstance(self.beta, (int, float)) and isinstance(self.mass, (int, float))
        if not numbers or not 0 <= self.beta < inf or not 0 < self.mass <= 1:
            raise ValueError(f"beta {self.beta!r} is a number from 0 on, mass {self.mass!r} one above 0 and at most 1")
        if not isinstance(self.query_features, int) or self.query_features < 1:
            raise ValueError(f"query_features {self.query_features!r} is a whole number above 0")
        for part in (self.query_tokens, self.query_keyphrases):
            if part not in get_args(QueryPart):
                raise ValueError(f"a query's parts are {' or '.join(get_args(QueryPart))}, not {part!r}")


@dataclass(frozen=True, slots=True)
class Bundle:
    """`bundle.json` and the folder it was read from."""

    folder: Path
    name: str
    outputs: tuple[str, ...]
    """Names of the graph's outputs: dense and sentences, tokens and keyphrases, or all four."""
    dims: int
    """Length of a vector; 0 where the graph gives none."""
    max_length: int
    files: Mapping[str, str]
    """File name to sha256, for every file of the bundle but `bundle.json` and the model card."""
    fingerprint: str
    """sha256 over graphs, tokenizer, vocabulary and its weights: what vectors depend on (not the role classifier)."""
    query_prefix: str = ""
    paper_prefix: str = ""
    similarity: str = "cosine"
    pooling: str = "cls"
    parity: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    licence: str = ""
    sparse: Sparse | None = None
    """Where the graph gives tokens."""
    format: int = FORMAT

    @property
    def precisions(self) -> tuple[Precision, ...]:
        return tuple(p for p in ("fp32", "int8") if GRAPHS[p] in self.files)

    @property
    def has_vectors(self) -> bool:
        return "dense" in self.outputs

    def path(self, name: str) -> Path:
        return self.folder / name


def load_bundle(name: str) -> Bundle:
    """A shipped bundle by name, or any bundle by its folder; every file is checked against its sha256."""
    folder = SHIPPED / name if (SHIPPED / name / "bundle.json").is_file() else Path(name)
    description = folder / "bundle.json"
    if not description.is_file():
        raise BundleError(
            f"no model bundle {name!r}: not shipped with sciret ({', '.join(shipped())}), nor a folder "
            f"with a bundle.json. `sciret export` makes one from a checkpoint."
        )
    try:
        content = json.loads(description.read_text(encoding="utf-8"))
        if content.get("format") != FORMAT:
            raise BundleError(
                f"{description}: bundle format {content.get('format')!r}, this sciret reads {FORMAT}; "
                f"upgrade sciret or export the model again"
            )
        if content.get("sparse") is not None:
            content["sparse"] = Sparse(**content["sparse"])
        bundle = Bundle(folder=folder, **{**content, "outputs": tuple(content["outputs"])})
        _check_outputs(bundle)
    except (ValueError, TypeError, KeyError) as error:
        raise BundleError(f"{description}: not a bundle description ({error}); export the model again") from error
    verify(bundle)
    return bundle


def _check_outputs(bundle: Bundle) -> None:
    """Refuse a description that contradicts itself, before a graph is loaded."""
    given = set(bundle.outputs)
    sparse = given - _VECTORS
    if given & _VECTORS not in (set(), _VECTORS) or sparse not in (set(), *_SPARSE) or not given:
        raise ValueError(
            f"outputs {', '.join(bundle.outputs) or 'none'}: dense and sentences come together, "
            f"and keyphrases with tokens"
        )
    needed = {FEATURES} if sparse else set()
    needed |= {KEYPHRASES} if "keyphrases" in sparse else set()
    if (bundle.sparse is not None) != bool(sparse):
        raise ValueError("the section sparse belongs to a bundle that gives tokens, and only to one")
    if missing := needed - set(bundle.files):
        raise ValueError(f"it gives {', '.join(sorted(sparse))}, but lists no {', '.join(sorted(missing))}")


def shipped() -> Sequence[str]:
    """Names of the bundles that came with the install."""
    return sorted(p.parent.name for p in SHIPPED.glob("*/bundle.json"))


def verify(bundle: Bundle) -> None:
    """Refuse a bundle whose files are not the ones its description was written for."""
    for name, expected in bundle.files.items():
        path = bundle.path(name)
        if Path(name).name != name or not path.is_file():
            raise BundleError(f"{bundle.folder}: {name} is missing; copy the whole bundle again")
        if sha256(path) != expected:
            raise BundleError(f"{path}: sha256 differs from bundle.json: damaged or tampered with; copy it again")
    if fingerprint(bundle.files) != bundle.fingerprint:
        raise BundleError(f"{bundle.folder}: the fingerprint in bundle.json does not fit its files; export it again")


def write_description(bundle: Bundle) -> None:
    """Write `bundle.json` beside the files it describes."""
    content = {name: value for name, value in asdict(bundle).items() if name != "folder"}
    if bundle.sparse is None:  # as it was before there were sparse bundles
        del content["sparse"]
    text = json.dumps(content, indent=2, ensure_ascii=False, sort_keys=True)
    (bundle.folder / "bundle.json").write_text(text + "\n", encoding="utf-8")


def fingerprint(files: Mapping[str, str]) -> str:
    """From the files' hashes, so that it is quick to check; independent of names that do not matter to vectors."""
    named = (*GRAPHS.values(), TOKENIZER, KEYPHRASES, FEATURES)
    parts = [f"{name}:{files[name]}" for name in sorted(files) if name in named]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
