"""/oauth/authorize: a program sends a person here, and the person says what it may do."""

from __future__ import annotations

from urllib.parse import urlsplit

from authlib.oauth2.rfc6749 import InvalidClientError, InvalidRequestError, OAuth2Error
from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext
from rest_framework.request import Request

from accounts import throttling
from accounts.authentication import caller
from accounts.oauth import addresses, clients
from accounts.oauth.documents import BadDocument
from accounts.oauth.server import AUTHORIZE_PATH, CodeGrant, server, with_issuer
from pages.account.base import POLICY
from pages.account.oauth.answering import AnswerPage, BadAnswer, Refused, problem_of
from pages.account.sign_in_links import LONGEST


class ConsentPage(AnswerPage):
    def back(self) -> str:
        """A request that is too long for the sign-in's address is refused after it, by this page."""
        place = super().back()
        return place if len(place) <= LONGEST else AUTHORIZE_PATH

    def retrieve(self, request: Request) -> HttpResponseBase:
        try:
            grant = self._grant(request)
        except (OAuth2Error, BadDocument) as refusal:
            return self._refused(refusal)
        return self._asking(grant)

    def create(self, request: Request) -> HttpResponseBase:
        self.spend(throttling.OAUTH_CODE, request)
        try:
            grant = self._grant(request)
        except (OAuth2Error, BadDocument) as refusal:
            return self._refused(refusal)
        if self.typed("answer") != "allow":
            return self._answered(request, grant)
        try:
            grant.limits = self.allowed(grant.request.client)
            return self._answered(request, grant)
        except (BadAnswer, *Refused) as refusal:
            return self._asking(grant, problem=problem_of(refusal))

    def _grant(self, request: Request) -> CodeGrant:
        """The program's request, which is the address of the page. Raises OAuth2Error, BadDocument, RateLimited."""
        if len(self.sent.get_full_path()) > LONGEST:
            raise InvalidRequestError(f"the request has more than {LONGEST} characters")
        client_id, now = self.sent.GET.get("client_id", ""), timezone.now()
        if not clients.is_fresh(client_id, now=now):
            self.spend(throttling.OAUTH_DOCUMENT, request)
            clients.read_document(client_id, by=caller(request).pk, now=now)
        grant: CodeGrant = server.get_consent_grant(self.sent, end_user=caller(request))
        return grant

    def _answered(self, request: Request, grant: CodeGrant) -> HttpResponseBase:
        """Send the person back to the program: with a code, or with a no."""
        who = caller(request) if grant.limits is not None else None
        answer = server.create_authorization_response(grant.request, grant_user=who, grant=grant)
        if "Location" not in answer:  # the program's document has just changed
            return self._refused(InvalidClientError("the program has changed: start anew"))
        return self.go(with_issuer(answer["Location"]))

    def _asking(self, grant: CodeGrant, *, problem: str = "") -> HttpResponseBase:
        back = grant.redirect_uri
        host = urlsplit(back).netloc
        answer = self.asking(
            "oauth_consent.html",
            grant.request.client,
            grant.request.scope,
            problem=problem,
            back_to=host,
            here=self.back(),
        )
        # A browser judges where a form's answer leads, too: the person is sent back to the program.
        own = "form-action 'self'"
        answer["Content-Security-Policy"] = POLICY.replace(own, f"{own} {addresses.policy_source(back)}")
        return answer

    def _refused(self, refusal: OAuth2Error | BadDocument) -> HttpResponseBase:
        """The program hears why, if we know where it is; else the person does."""
        if isinstance(refusal, OAuth2Error) and refusal.redirect_uri:
            _, _, headers = refusal()
            return self.go(with_issuer(dict(headers)["Location"]))
        said = refusal.message if isinstance(refusal, BadDocument) else str(refusal.description or refusal.error)
        problem = gettext("This program's request cannot be answered.")
        return self.page("oauth_refused.html", {"problem": problem, "said": said}, status=400)
