"""Words of phrases, and a key that is equal for all spellings of one phrase.

A phrase's key is the sequence of its letters after folding: case, accents, plurals and British spellings are resolved
word by word, and where words begin does not matter. So `cross-lingual models`, `Cross lingual model` and `crosslingual
model` are one phrase. Plurals are folded by rules and not by Porter's stemmer, which is right for single words in a
bag but makes one phrase of `general model`, `generative model` and `generated models`.

The key is a polynomial over letters modulo 2^64, so the key of consecutive words follows from the words' own by one
multiplication and one addition each: a whole text's n-grams are hashed by a few array operations.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from sciret.encoders.analysis import fold

Keys: TypeAlias = npt.NDArray[np.uint64]

HYPHENS = frozenset("-‐‑–")
TOKEN = re.compile(r"(?<=[^\W_])[-‐‑–](?=[^\W_])|\d+(?:\.\d+)+|[^\W_]+(?:['’][^\W_]+)*|[^\w\s]|_")
"""A hyphen between letters, a decimal number, a word, or any other mark; only such marks keep phrases apart."""

_MATH = re.compile(r"\$[^$\n]{1,300}\$|\\[A-Za-z]+|https?://\S+|www\.\S+|\S+@\S+\.\S+|\[CITE\]|\[\d[\d,; –-]*\]")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,60}>|&[a-z]{2,8};")
_INITIAL = re.compile(r"(?<![^\W_])([A-Z])\.(?=\s?[a-z]{3})")
"""`E. coli`: the dot of an abbreviated genus ends no sentence."""
_MASK = (1 << 64) - 1
_BASE = 0x9E3779B97F4A7C15  # odd, so that no letter is ever multiplied away


def readable(text: str) -> str:
    """The same letters at the same places, with what is no text blanked out: `|` for math and links, spaces for tags.

    A text that is not in Unicode's composed form is brought to it first, and only then places may shift.
    """
    text = text if text.isascii() else unicodedata.normalize("NFC", text)
    if "$" in text or "\\" in text or "[" in text or "@" in text or "http" in text or "www." in text:
        text = _MATH.sub(lambda found: "|" * len(found[0]), text)
    if "<" in text or "&" in text:
        text = _TAG.sub(lambda found: " " * len(found[0]), text)
    return _INITIAL.sub(r"\1 ", text) if "." in text else text


@lru_cache(maxsize=1 << 19)
def fold_word(word: str) -> str:
    """One word without case, accents, possessive, plural and British spelling. Remembered: most were met before."""
    return _singular(_american(fold(word).removesuffix("'s").replace("'", "")))


@lru_cache(maxsize=1 << 19)
def word_key(word: str) -> tuple[int, int]:
    """Key of a word's folded letters, and the base to the power of their number."""
    key, power = 0, 1
    for letter in fold_word(word):
        key = (key * _BASE + _scattered(ord(letter))) & _MASK
        power = (power * _BASE) & _MASK
    return key, power


def words_of(text: str) -> list[str]:
    """The words of a phrase as written, marks and hyphens left out."""
    return [token for token in TOKEN.findall(readable(text)) if token[0].isalnum()]


def phrase_key(phrase: str) -> int:
    """Equal for all spellings of a phrase; 0 for one without a letter."""
    key = 0
    for word in words_of(phrase):
        own, power = word_key(word)
        key = (key * power + own) & _MASK
    return key


def phrase_letters(phrase: str) -> str:
    """What the key is made of: compares two phrases for certain."""
    return "".join(map(fold_word, words_of(phrase)))


def extended(keys: Keys, own: Keys, powers: Keys) -> Keys:
    """Keys of n-grams [m], made one word longer by words with these own keys [m] and powers [m]."""
    longer: Keys = keys * powers + own  # overflow is the modulus
    return longer


@lru_cache(maxsize=1 << 12)
def _scattered(code: int) -> int:
    """Letters far apart in 64 bits, so that no two short words meet."""
    code = (code * 0xBF58476D1CE4E5B9) & _MASK
    return (code ^ (code >> 27)) * 0x94D049BB133111EB & _MASK


_DOUBLED = re.compile(r"(model|label|signal|travel|tunnel|channel|cancel|level)l(?=ing|ed|er)")
_OUR = re.compile(r"(behavi|tum|col|fav|neighb|lab|flav|vap|hum|od|hon|endeav)our")
_AE = re.compile(r"(?<=h)ae(?=m)|(?<=[klncstr])ae(?=mi)|(?<=p)ae(?=d)|(?<=an)ae(?=s)|(?<=[cf])ae(?=c)|(?<=gyn)ae(?=c)")
_BRITISH = {
    **{"centre": "center", "centres": "centers", "fibre": "fiber", "fibres": "fibers", "grey": "gray"},
    **{
        "ageing": "aging",
        "programme": "program",
        "programmes": "programs",
        "analogue": "analog",
        "catalogue": "catalog",
    },
    **{"oedema": "edema", "foetal": "fetal", "foetus": "fetus", "aetiology": "etiology", "oestrogen": "estrogen"},
    **{"neurone": "neuron", "neurones": "neurons", "sulphur": "sulfur", "sulphate": "sulfate", "artefact": "artifact"},
    **{"artefacts": "artifacts", "metre": "meter", "metres": "meters", "litre": "liter", "mould": "mold"},
}


def _american(word: str) -> str:
    if len(word) < 4:
        return word
    if "isation" in word:
        word = word.replace("isation", "ization")
    if "our" in word:
        word = _OUR.sub(r"\1or", word)
    if "ae" in word:
        word = _AE.sub("e", word)
    if "ll" in word:
        word = _DOUBLED.sub(r"\1", word)
    return _BRITISH.get(word, word)


_IRREGULAR = {
    **{"matrices": "matrix", "vertices": "vertex", "indices": "index", "cortices": "cortex", "helices": "helix"},
    **{"axes": "axis", "bases": "base", "mice": "mouse", "criteria": "criterion", "phenomena": "phenomenon"},
    **{"bacteria": "bacterium", "mitochondria": "mitochondrion", "taxa": "taxon", "spectra": "spectrum"},
    **{"corpora": "corpus", "genera": "genus", "stimuli": "stimulus", "nuclei": "nucleus", "foci": "focus"},
    **{"loci": "locus", "fungi": "fungus", "radii": "radius", "bacilli": "bacillus", "larvae": "larva"},
    **{"antennae": "antenna", "hyphae": "hypha", "vertebrae": "vertebra", "formulae": "formula", "algae": "alga"},
    **{"leaves": "leaf", "children": "child", "women": "woman", "men": "man", "teeth": "tooth", "feet": "foot"},
    **{"biases": "bias", "atlases": "atlas", "aliases": "alias", "canvases": "canvas", "lenses": "lens"},
    **{"viruses": "virus", "campuses": "campus", "statuses": "status", "focuses": "focus", "buses": "bus"},
    **{"gases": "gas", "quanta": "quantum", "ganglia": "ganglion", "halves": "half", "wolves": "wolf"},
}
_SAME = frozenset({"bias", "atlas", "alias", "canvas", "pancreas", "species", "series", "lens", "gas", "news", "chaos"})
_PLURAL_ICS = frozenset(
    f"{word}ics"
    for word in (
        *("metr", "top", "crit", "heurist", "characterist", "antibiot", "mim", "com", "fabr", "clin", "log", "synthet"),
        *("plast", "ceram", "mosa", "epidem", "pandem", "psychedel", "probiot", "biolog"),
    )
)


_ENDINGS = (("yses", "ysis"), ("theses", "thesis"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("xes", "x"))


def _singular(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is")) or word in _SAME:
        return word
    if word.endswith("ics") and word not in _PLURAL_ICS:  # physics, dynamics
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    plural, singular = next((pair for pair in _ENDINGS if word.endswith(pair[0])), ("s", ""))
    return word.removesuffix(plural) + singular
