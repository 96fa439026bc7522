"""The query of `GET /personas`."""

from __future__ import annotations

import unicodedata

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from catalog import search
from catalog.search_places import LONGEST_CURSOR
from catalog.vocabulary import ArticleLang, Category, TierId
from config.api import Choice, Serializer, Text
from config.numbers import QueryNumber


def _printable(text: str) -> None:
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise serializers.ValidationError("may not contain control characters")


@extend_schema_field(
    {
        "oneOf": [
            {"type": "integer", "minimum": 1, "maximum": search.LARGEST_PAGE},
            {"type": "string", "maxLength": 0},
        ]
    }
)
class PageSize(QueryNumber):
    """A number or nothing."""


# A parameter without a value counts as not given (`PersonasViewSet.asked`), so all may be blank.
class FindPersonasSerializer(Serializer):
    q = Text(
        required=False,
        allow_blank=True,
        max_length=search.LONGEST_QUERY,
        validators=[_printable],
        help_text="Words in the language `lang`, in any inflection; best matches first. Quotes keep words together, a "
        "hyphen before a word excludes it, `or` stands between alternatives. The last word may be unfinished.",
    )
    category = Choice(Category.choices, required=False, allow_blank=True)
    lang = Choice(
        ArticleLang.choices,
        required=False,
        allow_blank=True,
        help_text="Only personas that can be read in this language, and the language of `q`; English unless given.",
    )
    tier = Choice(
        TierId.choices,
        required=False,
        allow_blank=True,
        help_text="Only personas whose recommended plan is this one.",
    )
    limit = PageSize(
        required=False, min_value=1, max_value=search.LARGEST_PAGE, help_text=f"{search.PAGE} unless given."
    )
    cursor = Text(
        required=False,
        allow_blank=True,
        max_length=LONGEST_CURSOR,
        help_text="From the `Link` header of the page before.",
    )
