"""*Find*: what an id, an e-mail address or a hostname belongs to, among the lists that the person may see."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse

from accounts import mailbox
from config.ids import new_id

LONGEST = 254
MOST = 20  # rows of one kind
# Columns with words that people have. Each has an index, but that of domains leaves deleted agents out.
# So a question for a domain reads all agents: a tenth of a second for 100,000.
COLUMNS = {
    "agents.Agent": ("slug", "domain"),
    "billing.Payment": ("external_id",),
    "billing.Invoice": ("number",),
    "billing.Order": ("id",),
    "config.Job": ("id",),
}


def page(request: HttpRequest) -> HttpResponse:
    """Lead to the row, if there is just one; otherwise list what was found."""
    asked = request.GET.get("q", "").strip()[:LONGEST]
    found = [row for rows in _found(request, asked) for row in rows[:MOST]] if asked.isprintable() and asked else []
    links = [(row, row._meta.verbose_name, _page_of(row)) for row in found]  # noqa: SLF001 # Django's documented API
    if len(links) == 1:
        return redirect(links[0][2])
    context = {**admin.site.each_context(request), "title": "Find", "asked": asked, "found": links}
    return TemplateResponse(request, "admin/accounts/find.html", context)


def _found(request: HttpRequest, asked: str) -> Iterator[QuerySet[Any]]:
    if (model := _of_prefix(asked.partition("_")[0])) and _sees(request, model):
        yield model._default_manager.filter(pk=asked)  # noqa: SLF001 # as Django's admin does
    people = apps.get_model("accounts.User")
    if "@" in asked and _sees(request, people):
        yield people._default_manager.filter(email__in=_mailboxes(asked))  # noqa: SLF001
    for name, columns in COLUMNS.items():
        model = apps.get_model(name)
        for column in columns if _sees(request, model) else ():
            yield model._default_manager.filter(**{column: asked})  # noqa: SLF001


def _of_prefix(prefix: str) -> type[Model] | None:
    """The kind of rows whose ids begin so (config/ids.py)."""
    for model in admin.site._registry:  # noqa: SLF001 # the lists of the console
        default = getattr(model._meta.pk, "default", None)  # noqa: SLF001
        if isinstance(default, partial) and default.func is new_id and default.args == (prefix,):
            return model
    return None


def _mailboxes(asked: str) -> set[str]:
    try:
        return {asked, mailbox.canonical(asked)}
    except mailbox.NotAnAddress:
        return {asked}


def _sees(request: HttpRequest, model: type[Model]) -> bool:
    console = admin.site._registry.get(model)  # noqa: SLF001
    return console is not None and console.has_view_permission(request)


def _page_of(row: Model) -> str:
    meta = row._meta  # noqa: SLF001
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[quote(row.pk)])
