"""Pages that add a second factor, and one that makes new recovery codes. The codes are shown once, in the answer."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone

from accounts.console_pages.frame import AppForm, PasskeyForm, refused, session_of, shown
from accounts.factors import app, changing, passkey
from config.errors import ServiceError


def app_page(request: HttpRequest) -> HttpResponse:
    session, status = session_of(request), 200
    form = AppForm(request.POST) if request.method == "POST" else AppForm()
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            codes = changing.add_app(session, name=given["name"], code=given["code"], now=timezone.now())
            return _added(request, codes)
        except ServiceError as error:
            status = refused(form, error)
    secret = changing.new_app(session)
    context = {
        "form": form,
        "drawing": app.drawing(app.address(secret, email=session.user.email)),
        "secret": " ".join(secret[at : at + 4] for at in range(0, len(secret), 4)),
    }
    return shown(request, "admin/accounts/add_app.html", "Add an authenticator app", status=status, **context)


def passkey_page(request: HttpRequest) -> HttpResponse:
    session, status = session_of(request), 200
    form = PasskeyForm(request.POST) if request.method == "POST" else PasskeyForm()
    if request.method == "POST" and form.is_valid():
        given = form.cleaned_data
        try:
            codes = changing.add_passkey(session, name=given["name"], answer=given["answer"], now=timezone.now())
            return _added(request, codes)
        except ServiceError as error:
            status = refused(form, error)
    problem = passkey.unavailable()
    options = "" if problem else changing.new_passkey(session).options
    context = {"form": form, "problem": problem, "options": options}
    return shown(request, "admin/accounts/add_passkey.html", "Add a passkey", status=status, **context)


def codes_page(request: HttpRequest) -> HttpResponse:
    session = session_of(request)
    if request.method != "POST":
        return shown(request, "admin/accounts/new_codes.html", "Make new recovery codes")
    try:
        return _codes(request, changing.new_codes(session))
    except changing.NoSuchFactor:
        return HttpResponseRedirect(reverse("admin:my_sign_in"))


def _added(request: HttpRequest, codes: list[str]) -> HttpResponse:
    request.session.cycle_key()
    return _codes(request, codes) if codes else HttpResponseRedirect(reverse("admin:my_sign_in"))


def _codes(request: HttpRequest, codes: list[str]) -> HttpResponse:
    answer = shown(request, "admin/accounts/codes.html", "Your recovery codes", codes=codes)
    answer["Cache-Control"] = "no-store"
    return answer
