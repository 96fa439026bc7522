"""My sign-in: one's own second factors and sessions of the console."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from accounts import console_sessions
from accounts.console_pages.frame import session_of, shown
from accounts.console_sessions import Missing
from accounts.factors import changing, passkey, recovery
from config import audit
from config.errors import ServiceError

ENDED = "Console sessions ended"


def page(request: HttpRequest) -> HttpResponse:
    session, now = session_of(request), timezone.now()
    user = session.user
    context: dict[str, Any] = {
        "factors": list(user.factors.all()),
        "codes_left": recovery.left(user),
        "must_enrol": console_sessions.missing(session, now=now) is Missing.ENROLMENT,
        "no_passkeys": passkey.unavailable(),
        "sessions": list(console_sessions.live(now=now).filter(user=user).defer("pending")[: console_sessions.MOST]),
        "current": session.pk,
    }
    return shown(request, "admin/accounts/my_sign_in.html", "My sign-in", **context)


def remove_page(request: HttpRequest, factor_id: str) -> HttpResponse:
    session = session_of(request)
    factor = session.user.factors.filter(pk=factor_id).first()
    if factor is None:
        return HttpResponseRedirect(reverse("admin:my_sign_in"))
    if request.method != "POST":
        return shown(request, "admin/accounts/remove_factor.html", "Remove a second factor", factor=factor)
    try:
        messages.success(request, f"Removed: {changing.remove(session, factor_id, now=timezone.now())}")
    except ServiceError as error:
        messages.error(request, error.message)
    return HttpResponseRedirect(reverse("admin:my_sign_in"))


def end(request: HttpRequest) -> HttpResponse:
    """End one of one's own sessions, or all others."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    session = session_of(request)
    if chosen := request.POST.get("id", "")[:40]:
        ended = session.user.console_sessions.filter(pk=chosen).exclude(pk=session.pk).delete()[0]
    else:
        ended = console_sessions.end_others(session)
    if ended:
        audit.note(ENDED, session.user, reason=f"{ended} of their own")
    messages.success(request, "Ended." if ended else "There was no such session.")
    return HttpResponseRedirect(reverse("admin:my_sign_in"))
