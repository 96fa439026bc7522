"""What both pages ask: what the program's key may do."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError as NotValid
from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext
from rest_framework.request import Request

from accounts import throttling
from accounts.authentication import caller
from accounts.errors import TooManyKeys, WrongLimit
from accounts.keys import KeyLimits
from accounts.oauth.clients import AskingProgram
from accounts.scopes import Scope
from accounts.serializers import CreateKeySerializer
from accounts.throttling import Limit
from pages.account import key_limits
from pages.account.base import AccountPageViewSet

USUAL_DAYS = "90"
Refused = (TooManyKeys, WrongLimit, NotValid)


class BadAnswer(Exception):
    """The form cannot be taken. The text is for the person."""


class AnswerPage(AccountPageViewSet):
    """Shows a program's request, and takes the person's answer. `back` keeps the whole address for the sign-in."""

    def back(self) -> str:
        return self.sent.get_full_path()

    def spend(self, limit: Limit, request: Request) -> None:
        """Raises RateLimited."""
        throttling.spend(limit, by=caller(request).pk, now=timezone.now())

    def allowed(self, client: AskingProgram) -> KeyLimits:
        """What the person allows. Raises BadAnswer."""
        typed = self.typed_limits()
        if not typed["may"].split():
            raise BadAnswer(gettext("Choose what the program may do."))
        asked = key_limits.asked(typed, now=timezone.now())
        body = CreateKeySerializer(data={"name": client.name, **asked})
        if not body.is_valid():
            raise BadAnswer(_unfit())
        limits: KeyLimits = body.validated_data["limits"]
        return limits

    def typed_limits(self) -> dict[str, str]:
        return {field: self.typed(field) for field in key_limits.FIELDS}

    def asking(
        self, template: str, client: AskingProgram, scope: str, *, problem: str = "", **more: Any
    ) -> HttpResponseBase:
        user = caller(self.request)
        is_new = self.sent.method == "GET" or not self.typed("may")
        empty = dict.fromkeys(key_limits.FIELDS, "")
        typed = {**empty, "may": _may(scope), "days": USUAL_DAYS} if is_new else self.typed_limits()
        context = {"client": client, "problem": problem, **key_limits.choices(user, typed), **more}
        return self.page(template, context, status=400 if problem else 200)


def problem_of(refusal: Exception) -> str:
    if isinstance(refusal, BadAnswer):
        return str(refusal)
    if isinstance(refusal, TooManyKeys):
        return gettext("You have too many keys that work. Revoke one on your account's page first.")
    return _unfit()


def _unfit() -> str:
    return gettext(
        "These limits do not fit together. An amount for orders needs a program that may pay, one for models a program"
        " that may operate agents. Amounts are numbers."
    )


def _may(scope: str) -> str:
    """The choice of the form for what the program asks for."""
    asked = scope.split()
    return " ".join(one for one in (Scope.OPERATE, Scope.PAY) if one in asked) or Scope.READ
