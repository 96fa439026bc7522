"""The page of a step.

A GET lists the rows, asks for a reason and changes nothing. A POST changes the rows that the page showed.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.models import DELETION
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from config.admin_steps import recording, seen
from config.admin_steps.seen import Cells, ShownRows
from config.admin_steps.step import Given, Logged, Step
from config.audit import changes
from config.errors import Conflict, ServiceError

MOST = 50  # rows of one page: the page shows each, and its address has their ids
LIST = "list"  # the address has the filters of the list from which the rows were chosen
BACK = "back"  # or the page of the one row, whose button leads here
PAGE_OF_A_ROW = re.compile(r"/admin/[a-z0-9_]+/[a-z0-9_]+/[A-Za-z0-9_]+/change/")
TOO_OLD = "This page was more than an hour old, or not yours, so nothing was done. Read the page again as it is now."
NO_REASON_YET = "(your reason)"


class ChangedMeanwhile(Conflict):
    def __init__(self, words: list[str]) -> None:
        super().__init__(f"nothing was done, because this has changed since you opened the page: {'; '.join(words)}")


class UsedAlready(Conflict):
    message = "nothing was done, because this page was sent before: read it again as it is now"


class NothingLeft(Conflict):
    message = "there is nothing left to do"


def address(console: ModelAdmin[Any], step: Step[Any], ids: Iterable[str], *, filters: str = "", back: str = "") -> str:
    at = reverse(f"admin:{console.opts.app_label}_{console.opts.model_name}_{step.name}")
    query = [(step.parameter, one) for one in ids]
    query += [(name, value) for name, value in ((LIST, filters), (BACK, back)) if value]
    return f"{at}?{urlencode(query)}"


def page(console: ModelAdmin[Any], request: HttpRequest, *, step: Step[Any]) -> HttpResponse:
    if not step.allowed(console, request):
        raise PermissionDenied
    looked = seen.opened(request, step) if request.method == "POST" else None
    named = [one for one in request.GET.getlist(step.parameter) if one.isprintable()][:MOST]
    ids = list(looked.rows) if looked else named
    rows = step.rows(ids)
    if not rows:
        messages.error(request, "There is nothing left to do.")
        return redirect(_back(console, request, step))
    form = _form(step, request, rows, count=len(ids) if looked else len(rows))
    if looked and "confirm" in request.POST and form.is_valid():
        given = _take_all(request, step, looked, form)
        return given.answers[0] if given.answers else redirect(_back(console, request, step))
    if "confirm" in request.POST and not looked:
        messages.error(request, TOO_OLD)
    return _asking(console, request, step, rows, form)


def _form(step: Step[Any], request: HttpRequest, rows: list[Any], *, count: int) -> forms.Form:
    form = step.form_of(request.POST if request.method == "POST" else None, rows)
    if step.counted and count > 1:
        form.fields["count"] = _Count(count)
    return form


class _Count(forms.IntegerField):
    """The operator types how many rows the page has, so that nobody takes many rows for a single row."""

    def __init__(self, count: int) -> None:
        wrong = {"max_value": f"There are {count} rows.", "min_value": f"There are {count} rows."}
        super().__init__(
            min_value=count,
            max_value=count,
            label="Number of rows",
            help_text="Enter the number of rows above.",
            error_messages=wrong,
        )


def _take_all(request: HttpRequest, step: Step[Any], looked: ShownRows, form: forms.Form) -> Given:
    """Change each row by itself: if one row cannot be changed, the others still are."""
    given = Given(user=request.user, now=timezone.now(), once=looked.once, fields=form.cleaned_data, request=request)
    try:
        given = replace(given, now=step.now())
    except ServiceError as refusal:
        messages.error(request, refusal.message)
        return given
    done = []
    for row_id, was_shown in looked.rows.items():
        try:
            done.append(str(_take(step, row_id, was_shown, given)))
        except ServiceError as refusal:
            messages.error(request, f"{looked.names[row_id]}: {refusal.message}")
    for sentence in given.said:
        messages.info(request, sentence)
    if done:
        messages.success(request, f"{step.done}: {', '.join(done)}")
    return given


def _take(step: Step[Any], row_id: str, was_shown: Cells, given: Given) -> Any:
    """Check that the row is still as shown, then change it. A step that locks its row holds the lock during both."""
    with transaction.atomic() if step.in_transaction else contextlib.nullcontext():
        row = step.held(row_id)
        if row is None:
            raise NothingLeft
        if words := seen.changes(was_shown, step.cells([row])[0], material=step.material):
            raise ChangedMeanwhile(words)
        if not seen.use(given.once, row_id, now=given.now):
            raise UsedAlready
        logged = _taken(step, row, given)
        _record(step, row, was_shown, given, logged)
    return row


def _record(step: Step[Any], row: Any, was_shown: Cells, given: Given, logged: Logged | None) -> None:
    """Write the admin's history of each object, and the audit log."""
    typed = changes.of_fields(given.fields, but=("reason", "count", "name"))
    after = step.held(str(row.pk))  # None if it is deleted, or if the step does not look at such rows any more
    now_shown = step.cells([after])[0] if after is not None else {} if step.flag == DELETION else was_shown
    shown = changes.of_cells(was_shown, now_shown)
    recording.written(step, row, given, logged, changes=[*typed, *shown])


def _taken(step: Step[Any], row: Any, given: Given) -> Logged | None:
    """Run the rule of the step. If the rule refuses, the page can be sent again.

    In our own transaction, the rollback undoes the use of the page. Otherwise this function undoes it.
    """
    try:
        return step.take(row, given=given)
    except ServiceError:
        if not step.in_transaction:
            seen.give_back(given.once, str(row.pk))
        raise


def _asking(
    console: ModelAdmin[Any], request: HttpRequest, step: Step[Any], rows: list[Any], form: forms.Form
) -> HttpResponse:
    reason = form.cleaned_data.get("reason") if form.is_bound and (form.is_valid() or form.cleaned_data) else None
    shown = step.cells(rows)
    context = {
        **console.admin_site.each_context(request),
        "opts": console.opts,
        "title": step.title,
        "step": step,
        "columns": list(shown[0]),
        "shown": [list(cells.values()) for cells in shown],
        "meanings": step.means(rows),
        "form": form,
        "seen": (seen.FIELD, seen.sealed(request, step, rows)),
        "back": _back(console, request, step),
        **step.more(rows, reason=reason or NO_REASON_YET),
    }
    return TemplateResponse(request, step.template, context)


def _back(console: ModelAdmin[Any], request: HttpRequest, step: Step[Any]) -> str:
    """The address of the page or list from which the rows were chosen, the list with its filters."""
    if PAGE_OF_A_ROW.fullmatch(page := request.GET.get(BACK, "")):
        return page
    if step.after:
        return reverse(step.after)
    filters = request.GET.get(LIST, "")
    at = reverse(f"admin:{console.opts.app_label}_{console.opts.model_name}_changelist")
    return f"{at}?{filters}" if filters.isprintable() and filters else at
