"""/account/keys/{id}/limits: what conversations that an API key starts may spend on models."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext
from rest_framework.request import Request

from accounts import keys
from accounts.authentication import caller
from accounts.errors import LimitWithoutOperate
from accounts.models import ApiKey
from agents.serializers.limits import PutKeyLimitsSerializer
from agents.spending import key_limits as rules
from pages.account import key_limits, sign_in_links
from pages.account.agents.spending_limits import AMOUNTS, shown
from pages.account.base import AccountPageViewSet


class KeyModelsPage(AccountPageViewSet):
    def retrieve(self, request: Request, id: str) -> HttpResponseBase:
        key = keys.own(caller(request), id)
        return self._asking(key, dict(zip(AMOUNTS, map(_told, (key.day_usd, key.month_usd)), strict=True)))

    def create(self, request: Request, id: str) -> HttpResponseBase:
        """Save both. An empty field is no limit."""
        key = keys.own(caller(request), id)
        typed = {name: self.typed(name).strip() for name in AMOUNTS}
        body = PutKeyLimitsSerializer(data={name: key_limits.usd(value) for name, value in typed.items()})
        if not body.is_valid():
            return self._asking(key, typed, problem=gettext("Enter amounts such as 5 or 0.50."))
        try:
            rules.replace(caller(request), key.pk, **body.validated_data)
        except LimitWithoutOperate:
            return self._asking(key, typed, problem=gettext("This key may not operate agents, so it needs no limit."))
        return self.go(f"{sign_in_links.ACCOUNT}#keys")

    def _asking(self, key: ApiKey, typed: dict[str, Any], *, problem: str = "") -> HttpResponseBase:
        labels = (gettext("US dollars a day"), gettext("US dollars a month"))
        context = {
            "key": key,
            "fields": [
                (name, label, "decimal", shown(name, typed[name])) for name, label in zip(AMOUNTS, labels, strict=True)
            ],
            "spent": [f"{usd:.2f}" for usd in rules.spent_by(key, now=timezone.now())],
            "problem": problem,
        }
        return self.page("key_models.html", context, status=400 if problem else 200)


def _told(usd: object) -> str:
    return "" if usd is None else str(usd)
