"""Examples on disk: made once, while they are counted, and read again when it is known which are taken.

Making them means reading papers and parsing sentences; reading them back costs a tenth.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from sciret.paper import Paper
from sciret.training.mined_examples import Example, SourceName, keyphrase_examples, title_examples


class ExampleFiles:
    """One file a source, in a folder of the run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, source: SourceName) -> Path:
        return self._folder / f"{source}.jsonl"

    def written(self, source: SourceName, examples: Iterable[Example]) -> Iterator[Example]:
        """The same examples, on their way into the source's file."""
        with self.path(source).open("w", encoding="utf-8") as file:
            for example in examples:
                file.write(_line(example))
                yield example

    def read(self, source: SourceName) -> Iterator[Example]:
        with self.path(source).open(encoding="utf-8") as lines:
            for line in lines:
                query, positive, origin, relevant, shown, stratum = json.loads(line)
                yield Example(source, query, positive, origin, tuple(relevant), tuple(shown), stratum)

    def watch(self, papers: Iterable[Paper], stratum: str, seed: int) -> Iterator[Paper]:
        """The same papers; their titles and keyphrases go into the files of those sources, behind what is there."""
        with ExitStack() as stack:
            titles, keyphrases = (
                stack.enter_context(self.path(source).open("a", encoding="utf-8"))
                for source in ("titles", "keyphrases")
            )
            for paper in papers:
                titles.writelines(map(_line, title_examples([paper], stratum)))
                keyphrases.writelines(map(_line, keyphrase_examples([paper], stratum, seed)))
                yield paper

    def clear(self) -> None:
        for source in ("titles", "keyphrases"):
            self.path(source).write_text("", encoding="utf-8")


def _line(example: Example) -> str:
    values = (example.query, example.positive, example.origin, example.relevant, example.shown, example.stratum)
    return json.dumps(values, ensure_ascii=False) + "\n"
