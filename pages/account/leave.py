"""/account/delete: the owner deletes the account, and can change their mind for a week."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext
from rest_framework.request import Request

from accounts import client_address, signin, throttling
from accounts.authentication import caller
from accounts.models import User
from accounts.serializers import VerifySerializer
from agents.models import Agent
from billing import licence_cards
from billing.leaving import closing
from billing.models import Subscription
from billing.providers import registry
from config import clock
from config.errors import ServiceError
from pages.account import sign_in_links, words
from pages.account.base import AccountPageViewSet
from pages.account.sign_in import Refused, problem, status_of

PATH = "/account/delete"


class LeavePage(AccountPageViewSet):
    def retrieve(self, request: Request) -> HttpResponseBase:
        user = caller(request)
        if deletion := closing.of(user):
            return self.page(
                "leaving.html", {"closes": words.moment(deletion.closes_at), "elsewhere": _elsewhere(user)}
            )
        return self.page("leave.html", _lost(user))

    def create(self, request: Request) -> HttpResponseBase:
        """Ask for the deletion. Needs the typed email address and a new code: an open browser alone is not enough."""
        user = caller(request)
        if self.typed("email").strip().lower() != user.email.lower():
            return self._asking(problem=gettext("This is not the address of this account. Nothing was deleted."))
        try:
            self._confirm(user)
            closing.ask(user, lang=self.language.code, now=clock.now())
        except Refused as refusal:
            return self._asking(problem=_problem(refusal), status=status_of(refusal))
        return self.go(PATH)

    def _confirm(self, user: User) -> None:
        body = VerifySerializer(data={"email": user.email, "code": "".join(self.typed("code").split())})
        body.is_valid(raise_exception=True)
        now = timezone.now()
        household = client_address.household_of(self.sent.META)
        throttling.spend(throttling.AUTH_VERIFY, by=household, now=now)
        signin.confirm(user, code=body.validated_data["code"], household=household, now=now)

    def _asking(self, *, problem: str = "", status: int = 400, **context: Any) -> HttpResponseBase:
        minutes = signin.CODE_LIFETIME.seconds // 60
        return self.page("leave_code.html", {"problem": problem, "minutes": minutes, **context}, status=status)


class LeaveCodePage(LeavePage):
    def retrieve(self, request: Request) -> HttpResponseBase:
        return self.go(PATH)

    def create(self, request: Request) -> HttpResponseBase:
        user, now = caller(request), timezone.now()
        try:
            household = client_address.household_of(self.sent.META)
            throttling.spend(throttling.AUTH_REQUEST, by=household, now=now)
            code = signin.request_code(user.email, household=household, lang=self.language.code, now=now)
        except Refused as refusal:
            return self.page("leave.html", {**_lost(user), "problem": _problem(refusal)}, status=status_of(refusal))
        return self._asking(status=200, dev_code=code)


class StayPage(AccountPageViewSet):
    def retrieve(self, request: Request) -> HttpResponseBase:
        return self.go(PATH)

    def create(self, request: Request) -> HttpResponseBase:
        closing.call_off(caller(request), now=clock.now())
        return self.go(sign_in_links.ACCOUNT)


def _lost(user: User) -> dict[str, Any]:
    paid = Subscription.objects.paid().filter(user=user).exclude(agent__desired="deleted").select_related("agent")
    return {
        "agents": list(Agent.objects.owned_by(user.pk).live().order_by("name").values_list("name", flat=True)),
        "paid": [(row.agent.name, words.day(row.current_period_end)) for row in paid],
        "operator": user.is_staff,
        "days": closing.GRACE.days,
        "elsewhere": _elsewhere(user),
    }


def _elsewhere(user: User) -> list[dict[str, str]]:
    """The providers at which only the buyer can stop the card."""
    rows = Subscription.objects.paid().filter(user=user, cancels_there=False).select_related("agent")
    licensed = [row for row in rows if row.is_licensed and not licence_cards.can_stop(row)]
    sellers = [registry.key_seller(one) for one in sorted({row.provider or "" for row in licensed})]
    return [{"name": one.name, "url": one.cancel_url} for one in sellers if one]


def _problem(refusal: Exception) -> str:
    if isinstance(refusal, closing.OperatorsStay):
        return gettext("This account may open the operators' console. Ask an operator to remove that right first.")
    if isinstance(refusal, ServiceError):
        return problem(refusal)
    return gettext("A code has six digits.")
