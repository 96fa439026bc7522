"""/account/limits: what all agents of the account may spend on their models together."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext
from rest_framework.request import Request

from accounts.authentication import caller
from agents.serializers.limits import AccountLimitsSerializer, PutAccountLimitsSerializer
from agents.spending import account_limits, spent
from agents.spending.spent import NOTHING
from config import numbers
from config.errors import BadRequest
from pages.account.agents.spending_limits import AMOUNTS, shown
from pages.account.base import AccountPageViewSet

PATH = "/account/limits"


class AccountLimitsPage(AccountPageViewSet):
    """Limits in US dollars, and the switch that stops all calls of all agents."""

    shown_in_look = True

    def retrieve(self, request: Request) -> HttpResponseBase:
        return self._asking(request, AccountLimitsSerializer(account_limits.of(caller(request))).data)

    def create(self, request: Request) -> HttpResponseBase:
        """Save all of them. An empty field is no limit."""
        typed = {name: self.typed(name).strip() for name in AMOUNTS}
        stopped = self.typed("stopped") == "yes"
        given = {name: numbers.amount(value) or value for name, value in typed.items() if value}
        body = PutAccountLimitsSerializer(data={**given, "stopped": stopped})
        if not body.is_valid():
            problem = gettext("Enter amounts such as 5 or 0.50.")
            return self._asking(request, {**typed, "stopped": stopped}, problem=problem, status=400)
        try:
            account_limits.replace(caller(request), **body.validated_data)
        except BadRequest:
            problem = gettext("The model of one of your agents has no price here. Choose another model for it.")
            return self._asking(request, {**typed, "stopped": stopped}, problem=problem, status=400)
        return self.go(f"{PATH}?saved")

    def _asking(
        self, request: Request, typed: dict[str, Any], *, problem: str = "", status: int = 200
    ) -> HttpResponseBase:
        labels = {"usdPerDay": gettext("US dollars a day"), "usdPerMonth": gettext("US dollars a month")}
        account = caller(request).pk
        used = spent.sums_of_accounts([account], today=timezone.now().date()).get(account, NOTHING)
        context = {
            "fields": [(name, label, "decimal", shown(name, typed[name])) for name, label in labels.items()],
            "stopped": typed["stopped"],
            "spent": [f"{usd:.2f}" for usd in used],
            "problem": problem,
            "saved": "saved" in self.sent.GET,
        }
        return self.page("account_limits.html", context, status=status)
