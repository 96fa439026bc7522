"""Finds the language of a sentence: compares its letters with the letters of all other personas' texts.

The texts to check are themselves the best sample of how such texts are written, and nothing has to be downloaded. The
checked text is not part of the sample, so a text in a wrong language cannot confirm itself.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

# By persona and language: the texts.
Shelf = Mapping[str, Mapping[str, list[str]]]

# A label with fewer letters than this may be Spanish as well as Portuguese.
TELLING = 24
SENTENCE_END = re.compile(r"(?<=[.?!:;…])[»”“’)]*\s+")
WORD = re.compile(r"[^\W\d_]{2,}")
# Spreadsheet formulas, Python and SQL are the same in every language.
CODE = re.compile(r"=\w[\w.]*\([^()]*\)|\b[a-z]\.\w+|\w+ = \S+|\w+\([^()]*\)|\w+[./]\w+")
GRAMS = (2, 3, 4)
# The approximate number of combinations of 2 to 4 letters in all six languages, for the smoothing.
POSSIBLE = 200_000
SMOOTHING = 0.2
# How much higher the logarithm of the likelihood must be. Words that Spanish and Portuguese share decide nothing.
SURE = 25


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text, also those within quotation marks."""
    yield from (part for part in SENTENCE_END.split(text) if part.strip())


def telling(sentence: str) -> list[str]:
    """The words that show the language, without names, abbreviations and code."""
    return [word for word in WORD.findall(CODE.sub(" ", sentence)) if word.islower()]


# Words that occur in any three sentences of their language and do not exist in the other five.
FUNCTION_WORDS = {
    "en": "the and of you is with for that it your",
    "ru": "и не на что вы по для это как из",
    "es": "el los las y en una con lo del qué",
    "pt": "você não uma em um os à ao dá são",
    "tr": "ve bir bu için ne de ile daha çok var",
    "ind": "yang dan tidak di untuk anda saya dari itu satu",
}


def anchored(texts: Iterable[str]) -> str:
    """The language of whole texts, by the words above: the comparison below only knows the catalog's own texts."""
    words = Counter(word.lower() for text in texts for word in re.findall(r"[^\W\d_]+", text))
    return max(FUNCTION_WORDS, key=lambda lang: sum(words[word] for word in FUNCTION_WORDS[lang].split()))


class Languages:
    """Knows the texts of a shelf by persona and language."""

    def __init__(self, shelf: Shelf) -> None:
        self._own = {name: {lang: _count(texts) for lang, texts in by.items()} for name, by in shelf.items()}
        self._all: dict[str, Counter[str]] = {}
        for by in self._own.values():
            for lang, counts in by.items():
                self._all.setdefault(lang, Counter()).update(counts)
        self._sizes = {lang: counts.total() for lang, counts in self._all.items()}
        most = max((count for counts in self._all.values() for count in counts.values()), default=0)
        self._logarithms = [math.log(count + SMOOTHING) for count in range(most + 1)]
        self._found: dict[tuple[str, str], dict[str, float]] = {}

    def foreign(self, sentence: str, *, persona: str, lang: str) -> str | None:
        """The other language in which this sentence surely is, if any. None also for a sentence that is too short."""
        words = telling(sentence)
        if sum(map(len, words)) < TELLING:
            return None
        found = self._likelihoods(sentence, words, persona)
        best = max(found, key=lambda name: found[name])
        return best if found[best] - found[lang] > SURE else None

    def _likelihoods(self, sentence: str, words: list[str], persona: str) -> dict[str, float]:
        """The likelihood of each language, cached, because a sentence is asked for several times."""
        if (persona, sentence) not in self._found:
            grams, own = list(_grams(words)), self._own[persona]
            found = {lang: self._likelihood(grams, lang, own.get(lang, Counter())) for lang in self._all}
            self._found[persona, sentence] = found
        return self._found[persona, sentence]

    def _likelihood(self, grams: list[str], lang: str, own: Counter[str]) -> float:
        counts, left_out, logarithms = self._all[lang].get, own.get, self._logarithms
        space = math.log(self._sizes[lang] - own.total() + SMOOTHING * POSSIBLE)
        return sum(logarithms[counts(gram, 0) - left_out(gram, 0)] for gram in grams) - space * len(grams)


def _count(texts: Iterable[str]) -> Counter[str]:
    return Counter(gram for text in texts for gram in _grams(telling(text)))


def _grams(words: list[str]) -> Iterator[str]:
    line = f" {' '.join(words)} "
    return (line[start : start + size] for size in GRAMS for start in range(len(line) - size + 1))
