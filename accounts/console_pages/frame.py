"""What these pages share: the frame, the session of the request, and their forms' fields."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.template.response import TemplateResponse

from accounts import console_gate, console_sessions
from accounts.console_models import NAME_LENGTH, ConsoleSession
from accounts.factors.passkey import LARGEST
from config.admin_steps.step import OneLine, in_words
from config.errors import ServiceError


class NameForm(forms.Form):
    name = OneLine(
        max_length=NAME_LENGTH,
        validators=[in_words],
        help_text="For you to tell your second factors apart, such as: phone.",
    )


class AppForm(NameForm):
    code = forms.CharField(
        max_length=20,
        label="Code",
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "one-time-code"}),
        help_text="The six digits that the app shows now.",
    )


class PasskeyForm(NameForm):
    answer = forms.CharField(max_length=LARGEST, widget=forms.HiddenInput)


def session_of(request: HttpRequest) -> ConsoleSession:
    session = console_sessions.of(request)
    if session is None:  # the page is behind the sign-in, so it ended just now
        raise PermissionDenied
    return session


def shown(request: HttpRequest, template: str, title: str, *, status: int = 200, **context: Any) -> TemplateResponse:
    """The page in the console's frame; without menu as long as the console is not open."""
    is_open = console_gate.is_open(request)
    frame = {
        **admin.site.each_context(request),
        "title": title,
        "has_permission": is_open,
        "is_nav_sidebar_enabled": is_open,
        "is_open": is_open,
    }
    return TemplateResponse(request, template, {**frame, **context}, status=status)


def refused(form: forms.Form, error: ServiceError, field: str | None = None) -> int:
    """Show the refusal in the form. Returns the status of the answer."""
    form.add_error(field, error.message)
    return error.status if error.status in {409, 429} else 200
