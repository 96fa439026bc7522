"""/oauth/activate: a person types the code that a device shows, and says what its program may do."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext
from rest_framework.request import Request

from accounts import throttling
from accounts.authentication import caller
from accounts.oauth import clients, issuing
from accounts.oauth.clients import AskingProgram
from accounts.oauth.models import OAuthGrant
from pages.account.oauth.answering import AnswerPage, BadAnswer, Refused, problem_of

CODE_LETTERS = 8


class ActivatePage(AnswerPage):
    def retrieve(self, request: Request) -> HttpResponseBase:
        """The form for the code. A code in the address is only filled in: the person compares it with the device."""
        return self._code_form(_shown(self.sent.GET.get("user_code", "")))

    def create(self, request: Request) -> HttpResponseBase:
        now, code = timezone.now(), _shown(self.typed("user_code"))
        self.spend(throttling.OAUTH_CODE, request)
        with transaction.atomic():
            grant = issuing.waiting(code, now=now)
            client = clients.known(grant.client_id) if grant else None
            if grant is None or client is None:
                problem = gettext("This code is not known, or it is over. Look again, or start anew on the device.")
                return self._code_form(code, problem=problem)
            return self._answer(request, grant, client, code, now=now)

    def _answer(
        self, request: Request, grant: OAuthGrant, client: AskingProgram, code: str, *, now: datetime
    ) -> HttpResponseBase:
        answer = self.typed("answer")
        if answer == "allow":
            try:
                issuing.allow(grant, user=caller(request), limits=self.allowed(client), now=now)
            except (BadAnswer, *Refused) as refusal:
                return self.asking("oauth_device.html", client, grant.scope, problem=problem_of(refusal), code=code)
        elif answer == "deny":
            issuing.deny(grant, user=caller(request), now=now)
        else:
            return self.asking("oauth_device.html", client, grant.scope, code=code)
        grant.save()
        title = gettext("The program is connected") if grant.limits else gettext("The program was refused")
        return self.page("oauth_done.html", {"client": client, "allowed": bool(grant.limits), "title": title})

    def _code_form(self, code: str, *, problem: str = "") -> HttpResponseBase:
        return self.page("oauth_code.html", {"code": code, "problem": problem}, status=400 if problem else 200)


def _shown(typed: str) -> str:
    """The code as the device shows it: two groups of four letters, whatever was typed between them."""
    letters = "".join(one for one in typed.upper() if one.isascii() and one.isalpha())[:CODE_LETTERS]
    return f"{letters[:4]}-{letters[4:]}" if len(letters) == CODE_LETTERS else letters
