"""The dashboard of what was asked of a store. Other applications may log into the same index: ours are picked out."""

from __future__ import annotations

from sciret.mappings.events import APPLICATION, UBI_QUERIES
from sciret.mappings.panel import Dashboard, Filters, Metric, Panel, Source, Terms, Times

SEARCHES = Metric("count", "searches")


def search(alias: str) -> Dashboard:
    queries = Source(UBI_QUERIES, "timestamp", f'application:{APPLICATION} AND sciret.store:"{alias}"')
    latency, hits, score = "sciret.latency_ms", "sciret.hits", "sciret.top_score"
    text = "user_query.keyword"
    answered = Filters((("with hits", f"{hits}:[1 TO *]"), ("without", f"{hits}:0")))
    return Dashboard(
        "search",
        "search",
        "What is asked and how well it goes. Empty unless query logging is switched on.",
        (
            Panel("searches", "Searches", "In the chosen time.", "number", queries, (SEARCHES,), width=12, height=8),
            Panel(
                "latency",
                "Latency in ms",
                "From the encoded question to the ranked hits; the encoding itself is not part of it.",
                "number",
                queries,
                (Metric("percentiles", "ms", latency, (50, 95, 99)),),
                width=24,
                height=8,
            ),
            Panel(
                "kinds",
                "Kinds of question",
                "A text, a whole paper, or some sentences of a paper.",
                "pie",
                queries,
                (SEARCHES,),
                (Terms("sciret.kind", "kind", 5),),
                width=12,
                height=8,
            ),
            Panel(
                "latency-over-time",
                "Latency over time",
                "Median, 95th and 99th percentile in ms.",
                "lines",
                queries,
                (Metric("percentiles", "ms", latency, (50, 95, 99)),),
                (Times("timestamp", "time"),),
            ),
            Panel(
                "searches-over-time",
                "Searches over time",
                "Split by whether anything was found.",
                "bars",
                queries,
                (SEARCHES,),
                (Times("timestamp", "time"), answered),
            ),
            Panel(
                "top",
                "Top queries",
                "What is asked most, how long it takes and how many hits it has.",
                "table",
                queries,
                (SEARCHES, Metric("avg", "mean ms", latency), Metric("avg", "mean hits", hits)),
                (Terms(text, "query", 50),),
                height=16,
            ),
            Panel(
                "zero-hits",
                "Zero-hit queries",
                "Dense search always finds something, so these come from filters and access.",
                "table",
                queries,
                (SEARCHES, Metric("max", "last", "timestamp")),
                (Terms(text, "query", 50),),
                where=f"{hits}:0",
                height=16,
            ),
            Panel(
                "weak",
                "Weakest answers",
                "Queries by the score of their best hit, lowest first: what the corpus may lack.",
                "table",
                queries,
                (Metric("avg", "best score", score), SEARCHES),
                (Terms(text, "query", 50, ascending=True),),
                where=f"{hits}:[1 TO *]",
            ),
            Panel(
                "slow",
                "Slowest queries",
                "By their longest time.",
                "table",
                queries,
                (Metric("max", "longest ms", latency), SEARCHES),
                (Terms(text, "query", 50),),
            ),
        ),
        since="now-30d",
    )
