"""The pages of the console, found by its routes: a new page is among them without a line here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.http import HttpRequest
from django.urls import URLPattern, URLResolver, reverse

from config.admin_steps import WithSteps, address

# What a route ends with that leads to no page of its own, and what it answers instead.
NO_PAGES = {
    "save_filter": "takes the form of a list",
    "open_filter": "leads to a list",
    "change_filter": "is the same page for all lists, and that of agents is among the addresses",
    "delete": "leads to the page of a step, or is refused",
    "csv": "is a file",
    "pdf": "is a file",
    "html": "is a mail in a frame of its page",
    "send": "takes a form",
    "test": "takes a form",
    "last_lines": "is a part of an agent's page",
    "totals": "is a part of a list",
    "logout": "takes a form",
    "jsi18n": "is a script",
    "autocomplete": "is JSON",
    "view_on_site": "leads out of the console",
    "provider_start": "leads to the provider of sign-ins",
    "provider_back": "comes from the provider of sign-ins",
    "end_console_sessions": "takes a form",
    "password_change_done": "is a sentence",
    "login": "leads on, for who is signed in",
}
OWN = {"index", "find", "confirm", "my_sign_in", "add_app", "add_passkey", "new_codes", "password_change"}
MOST = 200  # rows among which one is looked for that a step would change


def routes() -> set[str]:
    """The names of the console's routes. Django's own last one has none, and leads to the page with a slash."""
    return {name for name in _names(admin.site.urls[0]) if name}


def _names(patterns: list[Any]) -> Iterator[str | None]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _names(pattern.url_patterns)
        elif isinstance(pattern, URLPattern):
            yield pattern.name


def leads_to_no_page(name: str) -> bool:
    return name in NO_PAGES or any(name.endswith(f"_{end}") for end in NO_PAGES)


def addresses(request: HttpRequest, more: dict[str, list[Any]]) -> dict[str, str]:
    """By the name of a route: an address of it for this operator.

    `more` has, by the name of a route, what stands in its address where that is no row of the list.
    """
    known = {name: [] for name in OWN | {name for name in routes() if name.endswith(("_changelist", "_mails"))}} | more
    found = {name: reverse(f"admin:{name}", args=arguments) for name, arguments in known.items()}
    for console in admin.site._registry.values():
        found |= _of(console, request)
    return found


def _of(console: Any, request: HttpRequest) -> dict[str, str]:
    kind = f"{console.opts.app_label}_{console.opts.model_name}"
    found = {f"{kind}_add": reverse(f"admin:{kind}_add")} if console.has_add_permission(request) else {}
    row = console.get_queryset(request).first()
    for page in ("change", "history") if row is not None else ():
        found[f"{kind}_{page}"] = reverse(f"admin:{kind}_{page}", args=[quote(str(row.pk))])
    steps = (*console.steps, *console.pages) if isinstance(console, WithSteps) else ()
    for step in steps:
        if shown := step.rows([str(one) for one in step.model._default_manager.values_list("pk", flat=True)[:MOST]]):
            found[f"{kind}_{step.name}"] = address(console, step, [str(shown[0].pk)])
    return found
