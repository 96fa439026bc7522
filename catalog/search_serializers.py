"""The query of `GET /personas`."""

from __future__ import annotations

import unicodedata

from rest_framework import serializers

from catalog import search
from catalog.search_places import LONGEST_CURSOR
from catalog.vocabulary import ArticleLang, Category, TierId
from config.api import Choice, Serializer, Text


def _printable(text: str) -> None:
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise serializers.ValidationError("may not contain control characters")


class FindPersonasSerializer(Serializer):
    q = Text(
        required=False,
        max_length=search.LONGEST_QUERY,
        validators=[_printable],
        help_text="Words in the language `lang`, in any inflection; best matches first. Quotes keep words together, a "
        "hyphen before a word excludes it, `or` stands between alternatives. The last word may be unfinished.",
    )
    category = Choice(Category.choices, required=False)
    lang = Choice(
        ArticleLang.choices,
        required=False,
        help_text="Only personas that can be read in this language, and the language of `q`; English unless given.",
    )
    tier = Choice(TierId.choices, required=False, help_text="Only personas whose recommended plan is this one.")
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=search.LARGEST_PAGE, help_text=f"{search.PAGE} unless given."
    )
    cursor = Text(required=False, max_length=LONGEST_CURSOR, help_text="From the `Link` header of the page before.")
