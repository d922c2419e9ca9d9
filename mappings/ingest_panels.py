"""The dashboard of what was written into a store: whether papers come in, and how."""

from __future__ import annotations

from sciret.mappings.corpus_panels import PAPERS
from sciret.mappings.events import INGEST_EVENTS
from sciret.mappings.panel import Dashboard, Metric, Panel, Source, Terms, Times


def ingest(alias: str) -> Dashboard:
    papers = Source(alias)
    runs = Source(INGEST_EVENTS, "@timestamp", f'sciret.store:"{alias}"')
    written = Metric("sum", "written", "sciret.written")
    refused = Metric("sum", "refused", "sciret.refused")
    last = Metric("max", "last", "@timestamp")
    return Dashboard(
        "ingest",
        "ingest",
        "Whether papers come in: how fast, how many are refused, and by which model they were encoded.",
        (
            Panel(
                "totals",
                "Papers",
                "Sums over the chosen time. Unchanged papers were read and skipped.",
                "number",
                runs,
                (
                    Metric("sum", "read", "sciret.read"),
                    written,
                    Metric("sum", "unchanged", "sciret.unchanged"),
                    Metric("sum", "deleted", "sciret.deleted"),
                    refused,
                ),
                width=36,
                height=8,
            ),
            Panel(
                "outcomes",
                "How runs ended",
                "Success, failure, or unknown for a run that was interrupted.",
                "pie",
                runs,
                (Metric("count", "runs"),),
                (Terms("event.outcome", "outcome", 5),),
                where='event.action:"ingest-end"',
                width=12,
                height=8,
            ),
            Panel(
                "written",
                "Papers written over time",
                "Acknowledged by the cluster.",
                "bars",
                runs,
                (written,),
                (Times("@timestamp", "time"),),
            ),
            Panel(
                "rate",
                "Rate",
                "Papers a second, as the ingests measured it: mean and best.",
                "lines",
                runs,
                (
                    Metric("avg", "papers/s", "sciret.papers_per_second"),
                    Metric("max", "best", "sciret.papers_per_second"),
                ),
                (Times("@timestamp", "time"),),
            ),
            Panel(
                "refused",
                "Refused records over time",
                "Records that could not be taken; the rejects file of the run has them with their reasons.",
                "bars",
                runs,
                (refused, Metric("sum", "longer than the model reads", "sciret.truncated")),
                (Times("@timestamp", "time"),),
            ),
            Panel(
                "runs",
                "Runs",
                "The runs that wrote most.",
                "table",
                runs,
                (written, refused, Metric("sum", "nanoseconds", "event.duration"), last),
                (Terms("sciret.run", "run", 50),),
            ),
            Panel(
                "models",
                "Models of the runs",
                "Fingerprints; more than one means that the model was changed in the chosen time.",
                "table",
                runs,
                (written, last),
                (Terms("sciret.model", "model"),),
            ),
            Panel(
                "papers-by-model",
                "Models of the papers",
                "Fingerprints in the index itself, whatever the time. A store has one.",
                "table",
                papers,
                (PAPERS, Metric("max", "last", "ingested_at")),
                (Terms("model", "model"),),
            ),
        ),
        since="now-7d",
    )
