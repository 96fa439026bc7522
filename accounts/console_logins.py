"""Sign-ins to the console: each starts a session of its own, and is in the audit log."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone

from accounts import client_address, console_sessions, mailbox
from accounts.helping import looks
from accounts.models import User
from config.audit import Acting, note
from config.audit.models import AuditEntry

SIGNED_IN, SIGNED_OUT, REFUSED = "Signed in", "Signed out", "Sign-in failed"
PASSWORD_GIVEN = "Password given"  # noqa: S105  # words; the second factor follows
LISTED = 20  # refused sign-ins of one account in an hour; those as other names are counted together
HOUR = timedelta(hours=1)
LAST = "More of the same in this hour are not listed."


class LoginForm(AdminAuthenticationForm):
    """Django sends no signal if the password is right but the person is no operator."""

    def confirm_login_allowed(self, user: Any) -> None:
        try:
            super().confirm_login_allowed(user)
        except ValidationError:
            _refused({"username": user.get_username()}, self.request)
            raise


def listen() -> None:
    user_logged_in.connect(_signed_in, dispatch_uid="audit")
    user_logged_out.connect(_signed_out, dispatch_uid="audit")
    user_login_failed.connect(_refused, dispatch_uid="audit")


def _signed_in(request: HttpRequest, user: User, **_: Any) -> None:
    console_sessions.start(request, user, now=timezone.now())
    note(PASSWORD_GIVEN if user.factors.exists() else SIGNED_IN, user, by=_person(request, user))


def _signed_out(request: HttpRequest, user: User | None, **_: Any) -> None:
    console_sessions.end(request)
    if user is not None:
        address = client_address.of(request.META)
        looks.end_all(user, why=looks.SIGNED_OUT, address=address, now=timezone.now())
        note(SIGNED_OUT, user, by=_person(request, user))


def _refused(credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    """Only the name of an account is stored: people also type their password into the field of the name."""
    user = _operator(str(credentials.get("username", "")))
    listed = _listed(user, now=timezone.now())
    if listed < LISTED:
        reason = LAST if listed == LISTED - 1 else ""
        note(REFUSED, user, label="" if user else "no operator's name", reason=reason, by=_person(request))


def refused_by_provider(why: str, request: HttpRequest) -> None:
    """Record that a sign-in with the OIDC provider was refused, within the same limit."""
    if _listed(None, now=timezone.now()) < LISTED:
        note(REFUSED, label="OIDC provider", reason=why, by=_person(request))


def _operator(typed: str) -> User | None:
    try:
        return User.objects.filter(email=mailbox.canonical(typed), is_staff=True).first()
    except mailbox.NotAnAddress:
        return None


def _listed(user: User | None, *, now: datetime) -> int:
    """How many refused sign-ins of the last hour are listed. Strangers must not fill the table."""
    rows = AuditEntry.objects.filter(verb=REFUSED, object_id=user.pk if user else "", at__gt=now - HOUR)
    return rows.order_by()[:LISTED].count()


def _person(request: HttpRequest | None, user: User | None = None) -> Acting:
    address = client_address.of(request.META) if request else ""
    return Acting(who=user.email if user else "", who_id=user.pk if user else "", address=address)
