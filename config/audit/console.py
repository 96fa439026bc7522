"""Records what people do in the console. No page has to think of it.

Each admin gets the base class `Audited` when it is registered, and each view of the console runs in `watched`. What a
page records itself has more words. For a page that records nothing, there are two nets: an action of a list gets a row
for each chosen object, and any other request that changed the database gets one row.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar, cast

from django.contrib.admin import ModelAdmin
from django.contrib.admin.utils import model_format_dict
from django.db import connection
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from config.audit import changes
from config.audit.log import Acting, Change, acted_by, acting, note

ADDED, CHANGED, DELETED, TRIED = "Added", "Changed", "Deleted", "Tried"
MOST_ROWS = 50  # that the net records of one action, which is also the most that an action of ours takes
LOOKING = {"GET", "HEAD", "OPTIONS"}
CHANGES_DATA = re.compile(r'\s*(?:INSERT INTO|UPDATE|DELETE FROM)\s+"?(\w+)', re.IGNORECASE)
# What every request may write: messages, when a session was last seen, used pages, and the two histories themselves.
NOT_OF_THE_PERSON = {
    *("django_session", "accounts_consolesession", "config_usedpage", "django_admin_log", "config_auditentry"),
}

View = TypeVar("View", bound=Callable[..., HttpResponseBase])
Admin = type[ModelAdmin[Any]]


def audited(admin: Admin) -> Admin:
    """The same admin, with its changes and actions recorded."""
    if issubclass(admin, Audited):
        return admin
    return cast("Admin", type(admin.__name__, (Audited, admin), {"__module__": admin.__module__}))


class Audited(ModelAdmin[Any]):
    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        acting().changes = [*changes.of_form(form, added=add), *changes.of_formsets(formsets or [])]
        return super().construct_change_message(request, form, formsets, add)

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        note(ADDED, obj, changes=_taken())
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Actions give their own words as the message. Django gives a list of the changed fields."""
        if isinstance(message, str):
            verb, _, reason = message.partition(": ")
            note(verb.rstrip("."), obj, reason=reason)
        else:
            note(CHANGED, obj, changes=_taken())
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        for row in queryset:
            note(DELETED, row)
        return super().log_deletions(request, queryset)

    def get_actions(self, request: HttpRequest) -> Any:
        found: Any = super().get_actions(request)
        return {
            name: (partial(_run, run=run, words=str(words)), name, words) for name, (run, _, words) in found.items()
        }


def _run(console: Any, request: HttpRequest, chosen: QuerySet[Any], *, run: Any, words: str) -> Any:
    """Run the action. If it neither leads to another page nor records anything, record the objects chosen for it."""
    rows = list(chosen[:MOST_ROWS])
    before = acting().noted
    answer = run(console, request, chosen)
    if answer is None and acting().noted == before:
        for row in rows:
            note(f"{TRIED}: {words % model_format_dict(console.opts)}", row)
    return answer


def watched(view: View, *, address: Callable[[HttpRequest], str]) -> View:
    """Say who acts while the view runs, and record a change of data for which the view recorded nothing."""

    @wraps(view)
    def answered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        person = Acting(who=request.user.get_username(), who_id=str(request.user.pk or ""), address=address(request))
        changed = _Changed()
        with acted_by(person), connection.execute_wrapper(changed):
            answer = view(request, *args, **kwargs)
            if changed.tables and not person.noted and request.method not in LOOKING:
                note(_page(request), label=request.path, changes=[("tables", "", ", ".join(sorted(changed.tables)))])
        return answer

    answered.is_watched = True  # type: ignore[attr-defined]  # a test looks for it
    return cast("View", answered)


class _Changed:
    """The tables that the statements of a request wrote to."""

    def __init__(self) -> None:
        self.tables: set[str] = set()

    def __call__(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        found = CHANGES_DATA.match(sql) if isinstance(sql, str) else None
        if found and found[1] not in NOT_OF_THE_PERSON:
            self.tables.add(found[1])
        return execute(sql, params, many, context)


def _page(request: HttpRequest) -> str:
    """The name of the request's page in words, such as “Password change”."""
    name = (request.resolver_match and request.resolver_match.url_name) or "page"
    return name.replace("_", " ").capitalize()


def _taken() -> list[Change]:
    found, acting().changes = acting().changes, []
    return found
