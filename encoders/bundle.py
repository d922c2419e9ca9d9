"""Model bundle: the folder that onnx_export writes and encoders read. docs/bundle.md describes every field."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from sciret.errors import BundleError

FORMAT = 1
SHIPPED = Path(__file__).parent / "bundles"
TOKENIZER = "tokenizer.json"
KEYPHRASES = "keyphrases.txt"
ROLES = "roles.npz"
GRAPHS: Mapping[str, str] = {"fp32": "model.onnx", "int8": "model.int8.onnx"}

Precision = Literal["fp32", "int8"]


@dataclass(frozen=True, slots=True)
class Bundle:
    """`bundle.json` and the folder it was read from."""

    folder: Path
    name: str
    outputs: tuple[str, ...]
    """Any of dense, sentences, tokens, keyphrases: the names of the graph's outputs."""
    dims: int
    max_length: int
    files: Mapping[str, str]
    """File name to sha256, for every file of the bundle but `bundle.json` and the model card."""
    fingerprint: str
    """sha256 over graphs, tokenizer and vocabulary: what the vectors depend on (the role classifier is not)."""
    query_prefix: str = ""
    paper_prefix: str = ""
    similarity: str = "cosine"
    pooling: str = "cls"
    parity: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    licence: str = ""
    format: int = FORMAT

    @property
    def precisions(self) -> tuple[Precision, ...]:
        return tuple(p for p in ("fp32", "int8") if GRAPHS[p] in self.files)

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
        bundle = Bundle(folder=folder, **{**content, "outputs": tuple(content["outputs"])})
    except (ValueError, TypeError, KeyError) as error:
        raise BundleError(f"{description}: not a bundle description ({error}); export the model again") from error
    verify(bundle)
    return bundle


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
    text = json.dumps(content, indent=2, ensure_ascii=False, sort_keys=True)
    (bundle.folder / "bundle.json").write_text(text + "\n", encoding="utf-8")


def fingerprint(files: Mapping[str, str]) -> str:
    """From the files' hashes, so that it is quick to check; independent of names that do not matter to vectors."""
    parts = [f"{name}:{files[name]}" for name in sorted(files) if name in (*GRAPHS.values(), TOKENIZER, KEYPHRASES)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
