"""/sign-in: enter the email address."""

from __future__ import annotations

import math
from typing import Any

from django.core.exceptions import ValidationError as NotValid
from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from accounts import client_address, errors, signin, throttling
from accounts.serializers import RequestSerializer
from config.errors import RateLimited, ServiceError
from config.operator_settings import operator_settings
from pages import languages
from pages.account import sign_in_links
from pages.account.base import AccountPageViewSet

Refused = (ServiceError, ValidationError, NotValid)


class SignInPagePage(AccountPageViewSet):
    """For everybody. The page to go to afterwards is in the URLs of the forms."""

    permission_classes = ()

    def then(self) -> str:
        return sign_in_links.safe(self.sent.GET.get("next", ""))

    def back(self) -> str:
        return sign_in_links.sign_in(self.then())

    def form(self, template: str, *, problem: str = "", status: int = 200, **context: Any) -> HttpResponseBase:
        here, code = sign_in_links.sign_in(self.then()), sign_in_links.code(self.then())
        frame = {"problem": problem, "minutes": signin.CODE_LIFETIME.seconds // 60, "to_email": here, "to_code": code}
        return self.page(template, {**frame, **context}, status=status)


class SignInPage(SignInPagePage):
    def retrieve(self, request: Request) -> HttpResponseBase:
        arrived = self.person and not self._asked()
        return self.go(self.then()) if arrived else self.form("sign_in.html", email="")

    def create(self, request: Request) -> HttpResponseBase:
        typed = self.typed("email").strip()
        try:
            email, code = self._request_code(typed)
        except Refused as refusal:
            return self.form("sign_in.html", email=typed, problem=problem(refusal), status=status_of(refusal))
        return self.form("code.html", email=email, dev_code=code)

    def _request_code(self, typed: str) -> tuple[str, str | None]:
        """Send a code. Returns the canonical email address, and the code if it may be shown (development)."""
        body = RequestSerializer(data={"email": typed})
        body.is_valid(raise_exception=True)
        email, now = body.validated_data["email"], timezone.now()
        household = client_address.household_of(self.sent.META)
        throttling.spend(throttling.AUTH_REQUEST, by=household, now=now)
        lang = languages.of_letters(self.sent)
        return email, signin.request_code(email, household=household, lang=lang, now=now)


def status_of(refusal: Exception) -> int:
    return refusal.status if isinstance(refusal, ServiceError) else 400


def problem(refusal: Exception) -> str:
    """The refusal of the API's rules in plain words."""
    match refusal:
        case errors.WrongCode():
            return gettext("These are not the digits of the newest mail. Look again, or have a new code sent.")
        case errors.NoLiveCode():
            return gettext("This code has expired or was used already. Have a new one sent.")
        case errors.AccountSuspended():
            return gettext("This account is suspended. Please write to %(address)s.") % {
                "address": operator_settings.SUPPORT_EMAIL
            }
        case errors.SignUpsClosed():
            return gettext("We take no new accounts at the moment. If you have one, you can sign in.")
        case errors.TooManyWrongTries() | errors.TooManyStrangers():
            return gettext("Too many wrong codes were tried. Have a new code sent to use it from here.")
        case RateLimited():
            minutes = math.ceil(int(refusal.headers["Retry-After"]) / 60)
            text = ngettext(
                "Too many tries. Please wait %(count)d minute.",
                "Too many tries. Please wait %(count)d minutes.",
                minutes,
            )
            return text % {"count": minutes}
    return gettext("Please enter an e-mail address such as ann@example.com.")
