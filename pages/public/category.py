"""/c/{category}"""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase
from rest_framework.request import Request

from catalog.vocabulary import Category
from config.errors import NotFound
from pages.languages import Language, address
from pages.public import persona_lists, structured
from pages.public.base import PublicPageViewSet
from pages.public.reading import cards
from pages.words import CATEGORIES

ON_A_PAGE = 24


class NoSuchCategory(NotFound):
    message = "no such category, or it has no such page"


class CategoryViewSet(PublicPageViewSet):
    def retrieve(
        self, request: Request, category: str, number: int = 1, lang: Language | None = None
    ) -> HttpResponseBase:
        if category not in Category.values or not 1 <= number <= pages(category):
            raise NoSuchCategory
        path = path_of(category, number)
        return self.page(request, lang, "category.html", lambda language: _content(category, number, language), path)


def pages(category: str) -> int:
    """The number of pages. An empty category has one page."""
    return max(1, -(-len(persona_lists.current().in_category(category)) // ON_A_PAGE))


def path_of(category: str, number: int) -> str:
    return f"c/{category}" if number == 1 else f"c/{category}/{number}"


def _content(category: str, number: int, language: Language) -> dict[str, Any]:
    members = persona_lists.current().in_category(category)
    text = CATEGORIES[Category(category)]
    return {
        "title": text.name,
        "description": text.about,
        "text": text,
        "count": len(members),
        "cards": cards(members[(number - 1) * ON_A_PAGE : number * ON_A_PAGE], language),
        "number": number,
        "pages": pages(category),
        "before": address(path_of(category, number - 1), language) if number > 1 else None,
        "after": address(path_of(category, number + 1), language) if number < pages(category) else None,
        "others": [
            {"name": other.name, "href": address(f"c/{one}", language), "here": one == category}
            for one, other in CATEGORIES.items()
        ],
        "structured": structured.trail(language, (str(text.name), f"c/{category}")),
    }
