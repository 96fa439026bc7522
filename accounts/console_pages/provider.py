"""Signing in with the OIDC provider: the way there, and the way back."""

from __future__ import annotations

import logging

from django.contrib import messages
from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from accounts import client_address, console_gate, console_sessions
from accounts.console import spend
from accounts.console_logins import refused_by_provider
from accounts.console_models import Proof
from accounts.oidc import people
from accounts.oidc import provider as oidc
from config import waiting
from config.audit import Acting, note
from config.errors import ServiceError

log = logging.getLogger(__name__)

AT_ONCE = 4  # sign-ins that wait for the provider, in each process
BACKEND = "django.contrib.auth.backends.ModelBackend"
IDENTIFIED = "Identified by the provider"
_STARTED = "provider"  # in Django's session
_waiting = waiting.WaitLimit(AT_ONCE, each=lambda: AT_ONCE)


def start(request: HttpRequest) -> HttpResponse:
    """Lead the browser to the provider."""
    _only_get(request)
    try:
        spend(request)
        target, again = console_gate.safe(request.GET.get("next", "")), request.user.is_authenticated
        started = oidc.Started.now(target=target, again=again)
        with _waiting.take(""):
            place = oidc.address(started)
    except ServiceError as error:
        return _refused(request, error)
    request.session[_STARTED] = started.kept()
    return HttpResponseRedirect(place)


def back(request: HttpRequest) -> HttpResponse:
    """Sign in the person whom the provider sends back."""
    _only_get(request)
    kept = request.session.pop(_STARTED, None)
    address = client_address.of(request.META)
    try:
        started = oidc.Started.of(kept)
        with _waiting.take(""):
            claims = oidc.claims(started, {key: str(value) for key, value in request.GET.items()})
        user = people.person(claims, now=timezone.now(), address=address)
    except ServiceError as error:
        return _refused(request, error)
    note(IDENTIFIED, user, by=Acting(who=user.email, who_id=user.pk, address=address))
    login(request, user, backend=BACKEND)
    session = console_sessions.of(request)
    if session and people.has_second_factor(claims):
        console_sessions.confirm(session, Proof.PROVIDER, now=timezone.now())
    return HttpResponseRedirect(started.next)


def _only_get(request: HttpRequest) -> None:
    if not oidc.is_on() or request.method != "GET":
        raise Http404


def _refused(request: HttpRequest, error: ServiceError) -> HttpResponse:
    """Back to the login page, which says it. The reason is for operators: in the audit log and the log."""
    if why := getattr(error, "why", ""):
        log.warning("a sign-in with the provider was refused", extra={"why": why})
        refused_by_provider(why, request)
    messages.error(request, error.message)
    return HttpResponseRedirect(reverse("admin:login"))
