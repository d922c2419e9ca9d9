"""The dashboard of a store's papers."""

from __future__ import annotations

from sciret.mappings.panel import Dashboard, Filters, Metric, Panel, Source, Steps, Terms

PAPERS = Metric("count", "papers")


def corpus(alias: str) -> Dashboard:
    papers = Source(alias)
    abstracts = Filters((("with abstract", "has_abstract:true"), ("without", "has_abstract:false")))
    return Dashboard(
        "corpus",
        "corpus",
        "What is in the store: years, collections, access, keyphrases, languages, and what is missing.",
        (
            Panel("papers", "Papers", "How many papers the store holds.", "number", papers, (PAPERS,), width=12),
            Panel(
                "abstracts",
                "Abstracts missing",
                "Papers without an abstract are found by their title alone.",
                "pie",
                papers,
                (PAPERS,),
                (abstracts,),
                width=12,
            ),
            Panel(
                "access",
                "Access",
                "Only open papers, and embargoed ones after their date, are found by default.",
                "pie",
                papers,
                (PAPERS,),
                (Terms("access", "access", 10),),
                width=12,
            ),
            Panel(
                "language",
                "Language",
                "As the records say it.",
                "pie",
                papers,
                (PAPERS,),
                (Terms("language", "language", 12, without="not said"),),
                width=12,
            ),
            Panel(
                "years",
                "Papers by year",
                "Year of publication, split by whether there is an abstract.",
                "bars",
                papers,
                (PAPERS,),
                (Steps("year", "year"), abstracts),
                width=48,
            ),
            Panel(
                "collections",
                "Papers by collection",
                "The largest collections; a paper can be in several.",
                "sideways",
                papers,
                (PAPERS,),
                (Terms("collections", "collection", without="in none"),),
                height=16,
            ),
            Panel(
                "keyphrases",
                "Top keyphrases",
                "What the model says the papers are about, by number of papers.",
                "table",
                papers,
                (PAPERS,),
                (Terms("keyphrase_terms", "keyphrase", 100),),
                height=16,
            ),
            Panel(
                "missing-abstracts",
                "Where abstracts are missing",
                "Collections by number of papers without an abstract: whom to ask for them.",
                "table",
                papers,
                (PAPERS,),
                (Terms("collections", "collection", 50, without="in none"),),
                where="has_abstract:false",
            ),
            Panel(
                "venues",
                "Venues",
                "The venues with the most papers.",
                "table",
                papers,
                (PAPERS,),
                (Terms("venue", "venue", 50),),
            ),
        ),
    )
