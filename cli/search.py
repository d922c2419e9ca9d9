"""`sciret search`: one question to a person or a program, or a file of them into a TREC run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from sciret.cli.exit_codes import INCOMPLETE
from sciret.cli.options import access_option, existing_store_option, json_option, model_options
from sciret.settings import Settings, load_settings

if TYPE_CHECKING:
    from sciret.retrieval.queries import Question
    from sciret.retrieval.search import SearchOptions

_SPARSE = {"none": None, "auto": "bm25"}  # until the store is open: see answer.settled
SPARSE = ("auto", "both", "casper", "bm25", "tfidf", "none")
RERANK = ("transport", "single", "attention", "none")
ASPECTS = ("background", "method", "result")
DEFAULTS = Settings()
SETTINGS = (
    *("store", "model", "device", "threads"),
    *("k", "candidates", "lambda_", "sparse", "beta", "rerank", "rerank_weight", "exact", "query_log"),
)
RUN_DEPTH = 100
"""Hits a query in a run: measures such as R@100 look that far, a person does not."""


def sentence_numbers(_ctx: click.Context, _option: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    """`2,3`: 1-based positions in the abstract."""
    if value is None:
        return None
    parts = [part.strip() for part in value.split(",")]
    if not all(re.fullmatch(r"[1-9][0-9]{0,5}", part) for part in parts):
        raise click.BadParameter(f"{value!r}: give sentence numbers from 1, separated by commas, such as 2,3")
    return tuple(int(part) for part in parts)


@click.command()
@click.argument("text", required=False)
@click.option("--like", metavar="PAPER_ID", help="Search by this paper of the store instead of by a text.")
@click.option(
    "--sentences", callback=sentence_numbers, metavar="2,3", help="With --like: only by these of its sentences."
)
@click.option("--aspect", type=click.Choice(ASPECTS), help="With --like: only by its sentences in this role.")
@click.option(
    "--queries",
    metavar="FILE.jsonl",
    help='Run many: a line is {"id", "text"} or {"id", "like", "sentences", "candidates"}; also .gz, or - for stdin.',
)
@click.option("--run", "out", metavar="OUT.trec", help="With --queries: the TREC run to write.")
@click.option("--tag", metavar="NAME", help="With --queries: the run's name in its last column.  [default: sciret]")
@existing_store_option
@click.option("-k", type=click.IntRange(min=1), help="How many papers.  [SCIRET_K; default: 10, or 100 with --queries]")
@click.option(
    "--from",
    "from_",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Pass over the N best papers: --from 10 shows the second page of ten.  [default: 0]",
)
@click.option(
    "--lambda",
    "lambda_",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help=f"Share of the dense side; the rest is the sparse side's.  [SCIRET_LAMBDA; default: {DEFAULTS.lambda_}]",
)
@click.option(
    "--sparse",
    type=click.Choice(SPARSE),
    help="The sparse side: CASPER's learned words and concepts, BM25, both of them, TF-IDF cosine, or none; auto is "
    f"both where the store has learned features and bm25 elsewhere.  [SCIRET_SPARSE; default: {DEFAULTS.sparse}]",
)
@click.option(
    "--beta",
    type=click.FloatRange(min=0),
    metavar="B",
    help="With CASPER: what a concept counts beside a word.  [SCIRET_BETA; default: the model's]",
)
@click.option(
    "--rerank",
    type=click.Choice(RERANK),
    help="How sentences are compared: optimal transport, the single best pair, attention, or not at all.  "
    f"[SCIRET_RERANK; default: {DEFAULTS.rerank}]",
)
@click.option(
    "--rerank-weight",
    type=click.FloatRange(0, 1),
    metavar="W",
    help="Share of the sentence comparison in the score.  [SCIRET_RERANK_WEIGHT; default: "
    f"{DEFAULTS.rerank_weight}; SCIRET_ASPECT_WEIGHT, {DEFAULTS.aspect_weight}, with --sentences or --aspect]",
)
@click.option(
    "--candidates",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"How many papers each channel proposes.  [SCIRET_CANDIDATES; default: {DEFAULTS.candidates}]",
)
@click.option(
    "--exact/--no-exact",
    default=None,
    help="On OpenSearch: find candidates by exact scores of all papers instead of its index of nearest neighbours.  "
    "[SCIRET_EXACT; default: no]",
)
@click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help="Only papers with FIELD=VALUE, or such as 'year>=2015'; may be given several times, all must hold.",
)
@access_option
@model_options
@click.option(
    "--log-query/--no-log-query",
    "query_log",
    default=None,
    help="On OpenSearch: keep this question and its hits, for dashboards.  [SCIRET_QUERY_LOG; default: no]",
)
@click.option("--explain", is_flag=True, help="Show the sum behind each score and which sentences matched which.")
@json_option
@click.pass_context
def command(ctx: click.Context, /, **given: Any) -> None:
    """Find papers by a text, by a paper or by some of its sentences.

    \b
    sciret search "how do plants sense drought"
    sciret search --like p17 --aspect method --where 'year>=2015'
    sciret search --queries queries.jsonl --run out.trec

    Give exactly one of TEXT, --like and --queries. A text that starts with a dash follows a double dash:
    sciret search -- "-omics".
    """
    check_usage(given)
    settings = load_settings(
        {name: given[name] for name in SETTINGS}
        | {"aspect_weight": given["rerank_weight"]}
        | ({} if given["queries"] is None else {"k": given["k"] or RUN_DEPTH})
    )
    options = search_options(settings, given["where"], restricted=given["access"] == "all", from_=given["from_"])
    if given["queries"] is not None:
        from sciret.cli.batch import run_batch

        complete = run_batch(settings, options, given["queries"], given["out"], given["tag"] or "sciret")
        ctx.exit(0 if complete else INCOMPLETE)
    from sciret.cli.answer import answer, print_answer

    print_answer(answer(question(given), settings, options), explain=given["explain"], as_json=given["as_json"])


def check_usage(given: dict[str, Any]) -> None:
    """Combinations that click cannot express."""
    asked = [name for name in ("text", "like", "queries") if given[name] is not None]
    if len(asked) != 1:
        raise click.UsageError("Give exactly one of TEXT, --like PAPER_ID and --queries FILE.")
    if given["sentences"] and given["aspect"]:
        raise click.UsageError("--sentences and --aspect both choose sentences: give one of them.")
    if (given["sentences"] or given["aspect"]) and given["like"] is None:
        raise click.UsageError("--sentences and --aspect choose sentences of a paper: they need --like.")
    if given["queries"] is None and (given["out"] is not None or given["tag"] is not None):
        raise click.UsageError("--run and --tag belong to --queries.")
    if given["queries"] is not None and given["out"] is None:
        raise click.UsageError("--queries needs --run OUT.trec to write to.")
    if given["queries"] is not None and given["from_"]:
        raise click.UsageError("--from is for one question: a run has every query's best papers.")
    if given["queries"] is not None and (given["explain"] or given["as_json"]):
        raise click.UsageError("--explain and --json are for one question: leave them out with --queries.")


def search_options(settings: Settings, where: tuple[str, ...], *, restricted: bool, from_: int = 0) -> SearchOptions:
    """Checked here too, since settings also come from the environment and from sciret.toml."""
    from sciret.errors import SettingsError
    from sciret.retrieval.search import SearchOptions
    from sciret.store import Condition, Scope

    for name, value, allowed in (("sparse", settings.sparse, SPARSE), ("rerank", settings.rerank, RERANK)):
        if value not in allowed:
            raise SettingsError(f"{name} is {value!r}; there are {', '.join(allowed)}")
    return SearchOptions(
        k=settings.k,
        from_=from_,
        candidates=settings.candidates,
        lambda_=settings.lambda_,
        sparse=_SPARSE.get(settings.sparse, settings.sparse),  # type: ignore[arg-type]  # checked above
        beta=settings.beta,
        rerank=settings.rerank,  # type: ignore[arg-type]
        rerank_weight=settings.rerank_weight,
        aspect_weight=settings.aspect_weight,
        scope=Scope(where=tuple(Condition.parse(text) for text in where), restricted=restricted),
    )


def question(given: dict[str, Any]) -> Question:
    """What a person asked, in the form of a line of a query file."""
    from sciret.errors import QueryError
    from sciret.retrieval.queries import Question

    text = given["text"]
    if text is not None and not text.strip():
        raise QueryError("the text to search for is empty")
    return Question("", text, given["like"], given["sentences"] or (), given["aspect"])
