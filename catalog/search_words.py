"""Turns a visitor's search text into queries for PostgreSQL's `websearch_to_tsquery`."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from catalog.vocabulary import ArticleLang

SHORTEST_BEGINNING = 2
OR = "or"

# Characters that separate words, as in the documents (catalog/migrations/_search.py). Not quotes and hyphens, which
# have a meaning.
_BLANK = re.compile(
    "[\x01-\x21\x23-\x2c\x2e\x2f\x3a-\x40\x5b-\x60\x7b-\xbf\xd7\xf7"
    "\u2000-\u2bff\u3000-\u303f\ufe00-\ufe0f\U0001f000-\U0001faff]+"
)
_JOINING_HYPHEN = re.compile(r"(?<=\S)-|-(?![^\s-])")  # a hyphen that excludes comes before a word and after a blank
_PART = re.compile(r'-?"[^"]*"|[^\s"]+')


@dataclass(frozen=True, slots=True)
class SearchWords:
    """A parsed search. `wanted` and `unwanted` contain words and "phrases", with `or` between alternatives."""

    wanted: str
    unwanted: str
    begun: str  # the last word, which may be unfinished: words that begin with it are found too
    before_it: str

    def __bool__(self) -> bool:
        return bool(self.wanted or self.unwanted)


def read(typed: str, *, lang: str) -> SearchWords:
    """Parse the text. Quotes keep words together, a hyphen before a word excludes it, other non-letters are blanks."""
    text = unicodedata.normalize("NFKC", typed).replace("İ", "i")
    text = (text.replace("I", "ı") if lang == ArticleLang.TR else text).lower()
    text = _JOINING_HYPHEN.sub(" ", _BLANK.sub(" ", text))
    parts = [part for part in _PART.findall(text) if part.strip(' "-')]
    wanted = [part for part in parts if not part.startswith("-")]
    unwanted = [part.removeprefix("-") for part in parts if part.startswith("-")]
    begun = _begun(text, parts)
    return SearchWords(
        wanted=" ".join(wanted),
        unwanted=f" {OR} ".join(unwanted),
        begun=begun,
        before_it=" ".join(wanted[:-1]) if begun else "",
    )


def _begun(text: str, parts: list[str]) -> str:
    """The last word; empty if it is finished, quoted, excluded, or too short."""
    if not parts or text[-1:].isspace():
        return ""
    last = parts[-1]
    return "" if last[0] in '"-' or last == OR or len(last) < SHORTEST_BEGINNING else last
