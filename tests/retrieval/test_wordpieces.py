"""Pieces are shown as the words they were cut from."""

from __future__ import annotations

from sciret.encoders.bundle import TOKENIZER, load_bundle
from sciret.retrieval.wordpieces import weight_of, written_words


def test_pieces_of_a_word_are_that_word() -> None:
    """As it is written, in the first text that has it."""
    known = {"photo", "##syn", "##thesis", "reef"}
    found = written_words(["##thesis", "photo", "reef"], known, "Of Photosynthesis at Reefs", "photosynthesis, reef")
    assert found == {"##thesis": "Photosynthesis", "photo": "Photosynthesis", "reef": "reef"}


def test_a_word_of_its_own_is_not_part_of_a_longer_one() -> None:
    assert written_words(["cell"], {"cell", "##ar"}, "cellar Cell")["cell"] == "Cell"


def test_longer_pieces_are_taken_first() -> None:
    """As the tokenizer does: `##thesis` is not what is left after `##t`."""
    assert written_words(["##t"], {"syn", "##t", "##thesis"}, "synthesis", "synt")["##t"] == "synt"


def test_accents_and_case_do_not_hide_a_word() -> None:
    assert written_words(["ang", "##strom"], {"ang", "##strom"}, "in Ångström") == dict.fromkeys(
        ("ang", "##strom"), "Ångström"
    )


def test_a_model_with_case_has_its_own_words() -> None:
    assert written_words(["Mari", "##ne"], {"Mari", "##ne"}, "Marine") == {"Mari": "Marine", "##ne": "Marine"}


def test_a_piece_whose_neighbours_were_pruned_is_looked_for_inside_words() -> None:
    """At their end first; never as a word of its own."""
    assert written_words(["##ase"], {"##ase"}, "ase phased kinase")["##ase"] == "kinase"
    assert written_words(["##ase"], {"##ase"}, "ase phased")["##ase"] == "phased"


def test_what_is_in_no_text_stays_readable() -> None:
    """The model adds words that neither text has."""
    assert written_words(["network", "##ase"], {"network", "##ase"}, "a text") == {
        "network": "network",
        "##ase": "…ase",
    }


def test_a_real_tokenizer_cuts_words_as_we_put_them_together() -> None:
    """Given all pieces of a text, each is found in the very word it came from."""
    from tokenizers import Tokenizer

    text = "Electroencephalography of zooxanthellae: β-lactamases hydrolyse carbapenems (KPC-3) in Réunion's fumaroles"
    encoding = Tokenizer.from_file(str(load_bundle("default").path(TOKENIZER))).encode(text, add_special_tokens=False)
    found = written_words(encoding.tokens, set(encoding.tokens), text)
    cut = [
        (piece, place) for piece, place in zip(encoding.tokens, encoding.offsets, strict=True) if piece[-1].isalnum()
    ]
    assert sum(piece.startswith("##") for piece, _ in cut) > 10
    for piece, (start, end) in cut:
        if encoding.tokens.count(piece) == 1:
            assert text[start:end] in found[piece]
            assert found[piece] in text
            assert not piece.startswith("##") or len(found[piece]) > end - start


def test_a_word_weighs_as_much_as_its_heaviest_piece() -> None:
    weights = {"ang": 1.0, "##strom": 3.0, "##s": 2.0}
    assert weight_of("Ångström", weights) == 3
    assert weight_of("angles", weights) == 0


def test_a_word_without_end_is_no_word() -> None:
    """The tokenizer does not cut it either, and trying would take minutes."""
    assert weight_of("a" * 100, {"a": 1.0, "##a": 2.0}) == 2
    assert weight_of("a" * 1_000_000, {"a": 1.0, "##a": 2.0}) == 0
