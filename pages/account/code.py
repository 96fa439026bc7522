"""/sign-in/code: enter the code from the mail."""

from __future__ import annotations

from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext
from rest_framework.request import Request

from accounts import client_address, clients, sessions, signin, throttling
from accounts.errors import WrongCode
from accounts.models import Session
from accounts.serializers import VerifySerializer
from config.errors import RateLimited, ServiceError
from pages.account import visitors
from pages.account.sign_in import Refused, SignInPagePage, problem, status_of


class CodePage(SignInPagePage):
    def retrieve(self, request: Request) -> HttpResponseBase:
        return self.go(self.back())

    def create(self, request: Request) -> HttpResponseBase:
        email, code = self.typed("email").strip(), "".join(self.typed("code").split())
        try:
            token = self._verified(email, code)
        except Refused as refusal:
            return self._refused(refusal, email)
        response = self.go(self.then())
        visitors.remember(response, token, self.sent)
        return response

    def _verified(self, email: str, code: str) -> str:
        """Check the code. Returns the token of a new session; the earlier session of this browser ends."""
        body = VerifySerializer(data={"email": email, "code": code})
        body.is_valid(raise_exception=True)
        now = timezone.now()
        household = client_address.household_of(self.sent.META)
        throttling.spend(throttling.AUTH_VERIFY, by=household, now=now)
        client = clients.named(self.sent.META)
        token, _ = signin.verify_code(**body.validated_data, household=household, client=client, now=now)
        before = self.request.auth
        if isinstance(before, Session):
            sessions.end(before)
        return token

    def _refused(self, refusal: Exception, email: str) -> HttpResponseBase:
        """Show the form for another try, or the form for a new code if trying again cannot help."""
        again = not isinstance(refusal, ServiceError) or isinstance(refusal, WrongCode | RateLimited)
        text = problem(refusal) if isinstance(refusal, ServiceError) else gettext("A code has six digits.")
        template = "code.html" if again else "sign_in.html"
        return self.form(template, email=email, problem=text, status=status_of(refusal))
