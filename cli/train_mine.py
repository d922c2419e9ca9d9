"""`sciret train mine`: training triplets from references, titles, keyphrases and query logs."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sciret.cli.options import json_option

if TYPE_CHECKING:
    from sciret.training.hard_negatives import ModelRanking

SOURCES = ("titles", "contexts", "cited_titles", "cocitations", "keyphrases", "queries")
_FILE = click.Path(dir_okay=False, path_type=Path)


def numbers(_ctx: click.Context, option: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """`titles=0.5`: a source and its weight or cap."""
    found: dict[str, float] = {}
    for value in values:
        name, _, number = value.partition("=")
        try:
            found[name] = int(number) if option.name == "caps" else float(number)
        except ValueError:
            raise click.BadParameter(f"{value!r}: give SOURCE=NUMBER, such as titles=1") from None
        if name not in SOURCES:
            raise click.BadParameter(f"{value!r}: the sources are {', '.join(SOURCES)}")
    return found


@click.command()
@click.option(
    "--corpus",
    multiple=True,
    required=True,
    metavar="SOURCE",
    help="Papers, as for ingest; may be given several times.",
)
@click.option("--contexts", metavar="FILE", help='Citations: {"citing", "context", "cited": [{"id", "title"}]} a line.')
@click.option("--cocitations", metavar="FILE", help='Papers cited together: {"a", "b", "contexts"} a line.')
@click.option("--queries", metavar="FILE", help='A query log: {"query", "clicked": [id], "shown": [id]} a line.')
@click.option(
    "--exclude", multiple=True, metavar="FILE", help='Queries never to train on: {"text"} or {"query"} a line.'
)
@click.option(
    "--title-only", is_flag=True, help="Also cited papers outside the corpus, by their titles (cited_titles)."
)
@click.option(
    "--weight",
    "weights",
    multiple=True,
    callback=numbers,
    metavar="SOURCE=W",
    help="What a triplet of a source counts.",
)
@click.option(
    "--cap",
    "caps",
    multiple=True,
    callback=numbers,
    metavar="SOURCE=N",
    help="Most triplets of a source; 0 leaves it out. Titles and keyphrases share it evenly between the files.",
)
@click.option("--negatives", type=click.IntRange(min=0), default=8, show_default=True, help="Hard negatives a triplet.")
@click.option(
    "--depth", type=click.IntRange(min=1), default=100, show_default=True, help="Best papers that they are drawn from."
)
@click.option(
    "--dev",
    "dev_share",
    type=float,
    default=0.02,
    show_default=True,
    metavar="SHARE",
    help="Part of citing papers held out.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is drawn.")
@click.option(
    "--model-store",
    metavar="STORE",
    help="Half of the negatives by the model that filled this store: its vectors and learned features.",
)
@click.option("--model", metavar="BUNDLE", help="With --model-store: the bundle that filled it.  [default: default]")
@click.option(
    "--out", type=_FILE, required=True, metavar="FILE.jsonl.gz", help="Triplets; the manifest goes beside it."
)
@json_option
def mine(out: Path, model_store: str | None, model: str | None, as_json: bool, **given: Any) -> None:
    """Mine training triplets from up to five kinds of data.

    \b
    sciret train mine --corpus papers.jsonl --out triplets.jsonl.gz
    sciret train mine --corpus papers.jsonl --contexts contexts.jsonl --cap contexts=60000 --out triplets.jsonl.gz

    Queries are titles, sentences that cite, papers cited together, authors' keyphrases and what users asked. Negatives
    are papers that BM25 ranks high, less those that repeat the positive, are cited together with it or share its
    keyphrases. Everything that one citing paper says is either in train or in dev. Papers that are not open are left
    out.

    The same command continues a run that was stopped, and gives the same file for the same data and seed.
    """
    from sciret.cli.output import print_json
    from sciret.training.mining import mine as mine_triplets
    from sciret.training.mining_config import MiningConfig

    if not out.parent.is_dir():
        raise click.UsageError(f"--out {out}: there is no folder {out.parent}")
    if model and not model_store:
        raise click.UsageError("--model goes with --model-store: a model's negatives come from a store that it filled")
    with ExitStack() as stack:
        ranking = model_ranking(model_store, model or "default", stack) if model_store else None
        config = MiningConfig(**given)
        manifest = mine_triplets(
            config, out, model=ranking, tell=lambda message: click.echo(f"sciret: {message}", err=True)
        )
    if as_json:
        print_json(manifest)
    else:
        print_counts(manifest, out)


def model_ranking(name: str, model: str, stack: ExitStack) -> ModelRanking:
    """What the store's own model ranks highest; a store that another model filled is refused."""
    from sciret.cli.stores import open_store
    from sciret.encoders.encoder import Encoder
    from sciret.errors import WrongModelError
    from sciret.settings import load_settings
    from sciret.training.hard_negatives import ModelRanking, by_model

    store = stack.enter_context(open_store(load_settings({"store": name}), create=False))
    encoder = Encoder.open(model)
    if store.model != encoder.model:
        raise WrongModelError(name, store.model or "none", encoder.model)
    return ModelRanking(encoder.model, by_model(store, encoder.encode_query))


def print_counts(manifest: dict[str, Any], out: Path) -> None:
    from sciret.cli.terminal import harmless

    total = sum(counts.get("triplets", 0) for counts in manifest["counts"].values())
    click.echo(f"{harmless(str(out))}: {total:,} triplets")
    for source, counts in manifest["counts"].items():
        train, dev, found = counts.get("train", 0), counts.get("dev", 0), counts["found"]
        click.echo(f"  {source}: {train:,} train, {dev:,} dev, of {found:,}")
