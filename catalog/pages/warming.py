"""Prepares what the first visitor after a start or a change of the catalog would wait for."""

from __future__ import annotations

from django.template.loader import get_template
from django.utils import translation

from catalog.pages import shelves, sitemap
from catalog.pages.languages import LANGUAGES

TEMPLATES = ("landing", "persona", "category", "article", "search", "failed")


def once() -> None:
    """Prepare everything. Cheap if it is prepared already."""
    shelves.current()
    sitemap.listed()
    for name in TEMPLATES:
        get_template(f"pages/{name}.html")
    for code in LANGUAGES:
        with translation.override(code):
            translation.gettext("Personas")
