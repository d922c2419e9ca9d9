"""How a run goes: frozen dataclasses, filled from a TOML file and from options, in this order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Self, get_type_hints

from sciret.errors import SettingsError
from sciret.training.anchored_step import AnchoredObjective
from sciret.training.casper import Shape
from sciret.training.configuration_values import parsed, put, read_toml, typed
from sciret.training.contrastive import Objective
from sciret.training.sparsity import Pooling

Precision = Literal["auto", "fp32", "bf16", "fp16"]
AT_LEAST = {
    "pool": 1,
    "hardest": 1,
    "hidden": 1,
    "query_features": 1,
    "chance_columns": 2,  # and half as many keyphrases
    "negatives": 0,
    "flops_steps": 0,
}
"""Of an anchored head."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What every kind of training has."""

    model: str
    """A masked language model or encoder (folder or hub name), or the folder of an earlier run."""
    papers: tuple[str, ...]
    """Files of papers, in any format that `sciret ingest` reads."""
    keyphrases: str = ""
    """A file with a keyphrase a line; a model that has keyphrases already needs none."""
    seed: int = 1
    device: str = "auto"
    precision: Precision = "auto"
    """fp32, bf16, fp16; auto is bf16 on GPUs that have it, fp16 on others, fp32 on CPUs."""
    steps: int = 100_000
    batch: int = 32
    """Of each process, in each pass forward and backward."""
    accumulation: int = 1
    """Batches whose gradients are added up to one step."""
    rate: float = 2e-5
    warmup: int = 6_000
    weight_decay: float = 0.01
    clip: float = 1.0
    log_every: int = 50
    evaluate_every: int = 1_000
    checkpoint_every: int = 1_000
    keep: int = 2
    """Checkpoints kept, the newest."""
    patience: int = 5
    """Evaluations without a better held-out loss before the run ends; 0: never."""
    dev: int = 2_000
    """Held-out texts or triplets, at most."""

    def __post_init__(self) -> None:
        at_least_one = ("steps", "batch", "accumulation", "log_every", "evaluate_every", "checkpoint_every", "keep")
        for name in at_least_one:
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} is {getattr(self, name)}; it is at least 1")
        if min(self.rate, self.clip) <= 0 or min(self.warmup, self.weight_decay, self.patience, self.dev) < 0:
            raise SettingsError("rate and clip are above 0; warmup, weight_decay, patience and dev not below")
        if not self.papers:
            raise SettingsError("no papers: give the files that hold them with --papers")

    @classmethod
    def load(cls, file: Path | None, options: Mapping[str, Any], settings: Iterable[str] = ()) -> Self:
        """From a TOML file, then from options that are not None, then from `NAME=VALUE` settings."""
        given = read_toml(file) if file else {}
        given |= {name: value for name, value in options.items() if value not in (None, ())}
        for setting in settings:
            name, equals, text = setting.partition("=")
            if not equals:
                raise SettingsError(f"--set {setting}: give it as NAME=VALUE")
            put(given, name.strip(), parsed(text.strip()))
        return cls.from_dict(given)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        types = get_type_hints(cls)
        unknown = given.keys() - types.keys()
        if unknown:
            raise SettingsError(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(types)}")
        missing = [f.name for f in fields(cls) if f.name in ("model", "papers", "triplets") and not given.get(f.name)]
        if missing:
            raise SettingsError(f"{', '.join(missing)} must be given, as options or in the configuration file")
        return cls(**{name: typed(name, value, types[name]) for name, value in given.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkTraining(Training):
    """What the trainings of a whole network have; a head on states that are computed once has no use for it."""

    recompute: bool = False
    """Compute activations of the layers again in the backward pass: a third more time, much less memory."""
    chunk: int = 0
    """Texts whose logits are held at once; 0: all."""
    keyphrase_bias: float = -1.0
    """What fresh keyphrase rows have added to their bias."""

    def __post_init__(self) -> None:
        Training.__post_init__(self)
        if self.chunk < 0:
            raise SettingsError(f"chunk is {self.chunk}; it is not negative, and 0 is all texts at once")


@dataclass(frozen=True, slots=True, kw_only=True)
class CasperTraining(NetworkTraining, Shape, Objective):
    """`sciret train casper`. Defaults are those of the CASPER authors where they are known."""

    triplets: str
    """What `sciret train mine` wrote."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Source to how often its triplets are seen in a pass; 1 where none is given, 0 leaves the source out."""
    abstracts_only: tuple[str, ...] = ("titles",)
    """Sources whose papers are read without their titles: a title as the query would only find itself."""
    negatives: int = 1
    flops_steps: int = 50_000
    teacher: str = "triplets"
    """Where a teacher's scores come from: `triplets`, `bundle:NAME` (dense), `cross-encoder:NAME`."""
    active_keyphrases: int = 64
    """Biases of keyphrases that no contrastive training has seen are shifted until a query has so many."""

    def __post_init__(self) -> None:
        NetworkTraining.__post_init__(self)
        Shape.__post_init__(self)
        if self.distillation != "none" and not self.negatives:
            raise SettingsError("distillation compares positives with negatives; give --set negatives=1 or more")
        if min(self.query_flops, self.document_flops, self.keyphrase_flops, self.distillation_weight) < 0:
            raise SettingsError("weights of FLOPS and distillation are not negative")
        if self.temperature <= 0 or self.negatives < 0 or self.flops_steps < 0 or self.active_keyphrases < 1:
            raise SettingsError("temperature is above 0, negatives and flops_steps are not negative")

    @property
    def shape(self) -> Shape:
        """What a checkpoint keeps of all this."""
        return Shape(**{f.name: getattr(self, f.name) for f in fields(Shape)})


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchoredTraining(Training, AnchoredObjective):
    """`sciret train anchored`. `model` is a bundle with dense vectors that has both an fp32 and an int8 graph."""

    triplets: str
    states: str = ""
    """Folder of the encoder's states, to share between runs on the same data; in the run's own by default."""
    weights: Mapping[str, float] = field(default_factory=dict)
    abstracts_only: tuple[str, ...] = ("titles",)
    precision: Precision = "fp32"
    """Products of sparse matrices, which the backward pass has, know no other beside fp32 weights."""
    rate: float = 7e-4
    warmup: int = 100
    steps: int = 1_000
    batch: int = 64
    log_every: int = 20
    evaluate_every: int = 100
    checkpoint_every: int = 100
    patience: int = 0
    dev: int = 1_536
    hidden: int = 512
    negatives: int = 1
    pool: int = 8_192
    """Papers drawn for each batch, of which hard negatives are the best by the dense vector."""
    hardest: int = 8
    too_close: float = 0.95
    """Cosine with the positive from which on a paper is no negative."""
    chance_columns: int = 512
    """Features that no query of the batch has, by which sparsity is measured."""
    flops_steps: int = 300
    keyphrase_pooling: Pooling = "max"
    average: float = 0.5
    """Share of the trained weights in the result; the rest is the closed form that training began with."""
    mass: float = 0.8
    query_features: int = 256

    def __post_init__(self) -> None:
        Training.__post_init__(self)
        if self.precision in ("bf16", "fp16"):
            raise SettingsError(f"precision {self.precision}: a head is trained in fp32; leave it out")
        if not self.keyphrases:
            raise SettingsError("no keyphrases: give a file of them with --keyphrases; `sciret vocab build` makes one")
        AnchoredObjective.__post_init__(self)
        if not 0 < self.average <= 1 or not 0 < self.mass <= 1:
            raise SettingsError(f"average is {self.average}, mass {self.mass}; they lie above 0 and at most at 1")
        if not -1 <= self.too_close <= 1:
            raise SettingsError(f"too_close is {self.too_close}; a cosine lies between -1 and 1")
        for name, least in AT_LEAST.items():
            if getattr(self, name) < least:
                raise SettingsError(f"{name} is {getattr(self, name)}; it is at least {least}")


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedTraining(NetworkTraining):
    """`sciret train mlm`."""

    rate: float = 5e-5
    warmup: int = 10_000
    batch: int = 64
    length: int = 256
    phrases_masked: float = 0.5
    """Share of the phrases in a text that are to be guessed."""
    words_masked: float = 0.15
    """Share of all other wordpieces that are to be guessed."""
    visible: float = 0.25
    """Share of the phrases to be guessed that stay as they are: so their keyphrase is learned where it can be read."""

    def __post_init__(self) -> None:
        NetworkTraining.__post_init__(self)
        if not all(0 <= share <= 1 for share in (self.phrases_masked, self.words_masked, self.visible)):
            raise SettingsError("phrases_masked, words_masked and visible lie between 0 and 1")
        if self.length < 8:
            raise SettingsError(f"length {self.length}: at least 8 tokens are read")
