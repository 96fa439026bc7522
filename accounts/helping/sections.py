"""The sections of a person's page that are of this app. Each asks the database once."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone

from accounts import keys as api_keys
from accounts import letters
from accounts.admin_steps import EndSessions, RevokeKeys
from accounts.helping import looks, notes
from accounts.models import ApiKey, Session, Suspension, User
from config.admin_sections import ROWS, Cell, PageSection, everything, page_of, table
from config.admin_steps import Step, address


def _moment(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M}" if at else "-"


def _button(step: Step[Any], label: str, row: Any, request: HttpRequest) -> Cell:
    """A link to the step for this row; empty if this person may not do it."""
    console = admin.site.get_model_admin(type(row))
    may = step.allowed(console, request)
    return Cell(label, address(console, step, [str(row.pk)], back=request.path)) if may else Cell("-")


def operators_notes(user: User, request: HttpRequest) -> PageSection | None:
    if not request.user.has_perm("accounts.view_personnote"):
        return None
    rows = notes.of(user, most=ROWS)
    links = (Cell("All notes", everything("accounts_personnote", user=user.pk)),)
    head = ("When (UTC)", "Who", "Note")
    return table("notes", "Notes", head, ((_moment(row.at), row.author, row.text) for row in rows), links=links)


def suspensions(user: User, request: HttpRequest) -> PageSection | None:
    if not request.user.has_perm("accounts.view_suspension"):
        return None
    return table(
        "suspensions",
        "Suspensions",
        ("From (UTC)", "By", "Reason", "Restored (UTC)", "By"),
        (
            (_moment(row.suspended_at), row.suspended_by, row.reason, _moment(row.restored_at), row.restored_by)
            for row in Suspension.objects.filter(user=user)[:ROWS]
        ),
        links=(Cell("All suspensions", everything("accounts_suspension", user=user.pk)),),
    )


def sessions(user: User, request: HttpRequest) -> PageSection | None:
    if not request.user.has_perm("accounts.view_session"):
        return None
    step = EndSessions()
    return table(
        "sessions",
        "Sessions",
        ("Began (UTC)", "Browser", "Last used (UTC)", "Ends (UTC)", ""),
        (
            (
                _moment(row.created_at),
                row.client or "unknown",
                _moment(row.seen_at),
                _moment(row.expires_at),
                _button(step, "End", row, request),
            )
            for row in Session.objects.live(now=timezone.now()).filter(user=user)[:ROWS]
        ),
        links=(Cell("All sessions", everything("accounts_session", user=user.pk)),),
    )


def keys(user: User, request: HttpRequest) -> PageSection | None:
    if not request.user.has_perm("accounts.view_apikey"):
        return None
    step = RevokeKeys()
    return table(
        "keys",
        "API keys",
        ("Made (UTC)", "Name", "Key", "May", "Last used (UTC)", "Ends (UTC)", "Revoked (UTC)", ""),
        (
            (
                _moment(row.created_at),
                row.name,
                Cell(f"{row.prefix}…", page_of("accounts_apikey", row.pk)),
                api_keys.told(row),
                _moment(row.last_used_at),
                _moment(row.expires_at),
                _moment(row.revoked_at),
                Cell("-") if row.revoked_at else _button(step, "Revoke", row, request),
            )
            for row in ApiKey.objects.owned_by(user)[:ROWS]
        ),
        links=(Cell("All keys", everything("accounts_apikey", user=user.pk)),),
    )


def mails(user: User, request: HttpRequest) -> PageSection | None:
    if not request.user.has_perm("accounts.view_letter"):
        return None
    return table(
        "mails",
        "Mails",
        ("Written (UTC)", "Subject", "Sent (UTC)"),
        (
            (
                _moment(row.written_at),
                Cell(row.subject, page_of("accounts_letter", row.pk)),
                _moment(row.mailed_at),
            )
            for row in letters.newest(user.pk, most=ROWS)
        ),
        links=(Cell("All mails", everything("accounts_letter", user=user.pk)),),
    )


def staff_looks(user: User, request: HttpRequest) -> PageSection | None:
    if not request.user.has_perm("accounts.view_stafflook"):
        return None
    rows = looks.of(user, most=ROWS)
    return table(
        "looks",
        "Seen by operators",
        ("From (UTC)", "To (UTC)", "Who", "Reason", "Pages"),
        (
            (_moment(row.began_at), _moment(row.ended_at), row.operator.email, row.reason, len(row.places))
            for row in rows
        ),
        links=(Cell("All looks", everything("accounts_stafflook", user=user.pk)),),
    )


SECTIONS: list[Any] = [operators_notes, suspensions, sessions, keys, mails, staff_looks]
