"""The page between the password and the console, and before pages that change who can sign in: who are you?"""

from __future__ import annotations

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from accounts import console_gate, console_sessions
from accounts.console_logins import SIGNED_IN
from accounts.console_models import ConsoleSession, FactorKind, Proof
from accounts.console_pages.frame import refused, session_of, shown
from accounts.factors import checking, recovery
from accounts.factors.passkey import LARGEST
from accounts.oidc import provider
from config import audit
from config.errors import ServiceError

CONFIRMED, REFUSED = "Confirmed who they are", "Second factor refused"


class FactorForm(forms.Form):
    code = forms.CharField(
        required=False,
        max_length=checking.LONGEST_CODE,
        label="Code of your app",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autofocus": True}),
        help_text="Six digits. Without your phone, enter one of your recovery codes.",
    )
    answer = forms.CharField(required=False, max_length=LARGEST, widget=forms.HiddenInput)


class PasswordForm(forms.Form):
    password = forms.CharField(
        max_length=128, widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True})
    )


def page(request: HttpRequest) -> HttpResponse:
    session = session_of(request)
    kinds = set(session.user.factors.values_list("kind", flat=True))
    form_class = FactorForm if kinds else PasswordForm
    form = form_class(request.POST) if request.method == "POST" else form_class()
    if kinds == {FactorKind.PASSKEY.value}:
        form.fields["code"].label, form.fields["code"].help_text = "Recovery code", ""
    status = 200
    if request.method == "POST" and form.is_valid():
        try:
            return _confirmed(request, session, _proof(session, form))
        except ServiceError as error:
            audit.note(REFUSED, session.user)
            status = refused(form, error)
    asked = checking.ask_for_passkey(session) if FactorKind.PASSKEY in kinds else None
    context = {
        "form": form,
        "options": asked.options if asked else "",
        "has_password": bool(kinds) or session.user.has_usable_password(),
        "provider": provider.name() if provider.is_on() else "",
        "next": console_gate.safe(request.GET.get("next", "")),
    }
    return shown(request, "admin/accounts/confirm.html", "Confirm that it is you", status=status, **context)


def _proof(session: ConsoleSession, form: forms.Form) -> Proof:
    given, now = form.cleaned_data, timezone.now()
    if "password" in given:
        checking.password(session.user, given["password"], now=now)
        return Proof.NONE
    if given["answer"]:
        return checking.signature(session, given["answer"], now=now)
    return checking.code(session.user, given["code"], now=now)


def _confirmed(request: HttpRequest, session: ConsoleSession, proof: Proof) -> HttpResponse:
    """Note it, give the browser a new session key, and go on to the page that was asked for."""
    left = f", {recovery.left(session.user)} left" if proof is Proof.RECOVERY else ""
    verb = CONFIRMED if session.proof or proof is Proof.NONE else SIGNED_IN
    console_sessions.confirm(session, proof, now=timezone.now())
    audit.note(verb, session.user, reason=f"{proof.label}{left}")
    request.session.cycle_key()
    return HttpResponseRedirect(console_gate.safe(request.GET.get("next", "")))
