"""The addresses that an operator opens in the console: each list in every order, filtered, searched, its last page, its
totals, and the page of one row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.contrib.admin.views.main import ORDER_VAR, PAGE_VAR, SEARCH_VAR
from django.test import Client
from django.urls import reverse

# Nothing has it; the e-mail of a person; the id of an agent.
SEARCHED = ("zzz-nonsense", "owner-12345@example.com", "agt_000000000000000000000bb8")
MOST_CHOICES = 8  # of one filter


@dataclass(frozen=True, slots=True)
class Visit:
    console: str
    kind: str
    address: str


def visits(client: Client) -> Iterator[Visit]:
    """The visits of an operator who may see everything, whose session the client has."""
    yield Visit("overview", "overview", reverse("admin:index"))
    for console in admin.site._registry.values():  # noqa: SLF001
        yield from of_console(client, console)


def of_console(client: Client, console: admin.ModelAdmin[Any]) -> Iterator[Visit]:
    """The visits of one list. Needs `setup_test_environment`, so that the client sees the contexts of pages."""
    page = f"admin:{console.opts.app_label}_{console.opts.model_name}"
    place = reverse(f"{page}_changelist")
    yield Visit(console.opts.label, "first page", place)
    if getattr(console, "totals", None) is not None:
        yield Visit(console.opts.label, "totals of all rows", f"{place}totals/")
    listed = (client.get(place, follow=True).context or {}).get("cl")
    if listed is None:
        return
    for kind, query in _queries(console, listed):
        yield Visit(console.opts.label, kind, f"{place}?{query}")
    for row in listed.result_list[:1]:
        yield Visit(console.opts.label, "one", reverse(f"{page}_change", args=[quote(str(row.pk))]))


def _queries(console: admin.ModelAdmin[Any], listed: Any) -> Iterator[tuple[str, str]]:
    for number, name in enumerate(listed.list_display):
        if name in (listed.sortable_by or ()):
            yield f"by {name}", urlencode({ORDER_VAR: number})
            yield f"by -{name}", urlencode({ORDER_VAR: -number})
    for spec in listed.filter_specs:
        for choice in list(spec.choices(listed))[1:MOST_CHOICES]:
            if "query_string" in choice:
                yield f"filter {spec.title}: {choice['display']}", choice["query_string"].removeprefix("?")
    for term in SEARCHED if console.search_fields else ():
        yield f"search {term}", urlencode({SEARCH_VAR: term})
    yield "last page", urlencode({PAGE_VAR: listed.paginator.num_pages})
