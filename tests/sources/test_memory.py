"""Reading takes the same memory however long the source is."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from sciret.sources.duplicates import SeenIds

# Its own process, as the peak of this one is history: the growth from the first record to the last, in kilobytes.
MEASURE = """
import resource, sys
from sciret.sources.reader import open_source
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
papers = open_source(sys.argv[1], format=sys.argv[2])
next(papers)
before = peak()
print(1 + sum(1 for _ in papers), peak() - before)
"""


def record(format_name: str, i: int, abstract: str) -> str:
    if format_name == "jsonl":
        return json.dumps({"id": f"p{i}", "title": f"Paper {i}", "abstract": abstract}) + "\n"
    if format_name == "csv":
        return f'p{i},Paper {i},"{abstract}"\n'
    if format_name == "bibtex":
        return f"@misc{{p{i}, title = {{Paper {i}}}, abstract = {{{abstract}}}}}\n"
    return f"TY  - JOUR\nID  - p{i}\nTI  - Paper {i}\nAB  - {abstract}\nER  - \n"


@pytest.mark.parametrize(
    ("format_name", "count", "chars"),
    [("jsonl", 8_000, 5_000), ("csv", 4_000, 10_000), ("ris", 4_000, 10_000), ("bibtex", 200, 100_000)],
)
def test_memory_does_not_grow_with_the_source(tmp_path: Path, format_name: str, count: int, chars: int) -> None:
    """Of 20 to 40 MB of papers no more than a few are ever held, the ids that were seen included."""
    path = tmp_path / "papers.gz"
    abstract = ("We read papers one after another and forget each before the next. " * (chars // 60))[:chars]
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        file.write("id,title,abstract\n" if format_name == "csv" else "")
        file.writelines(record(format_name, i, abstract) for i in range(count))
    command = [sys.executable, "-c", MEASURE, str(path), format_name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found, growth = map(int, done.stdout.split())
    assert found == count
    assert growth < 8_000


def test_ids_cost_about_a_hundred_bytes_each() -> None:
    """The one thing that grows: by a set's slot and a number, however long the id; 100 MB for a million."""
    tracemalloc.start()
    seen = SeenIds()
    assert all(seen.add(f"paper-with-a-long-identifier-{i}") for i in range(20_000))
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / len(seen) < 150  # a set that has just grown is half empty
