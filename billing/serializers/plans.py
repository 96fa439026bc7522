"""Request and response fields that several of billing's endpoints share, and the body of `/agents/{id}/term`."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from rest_framework import serializers

from billing.vocabulary import TermMode
from catalog.serializers.catalog import Usd
from config.api import Serializer, envelope

PRICES = ("monthlyUsd", "annualUsd")


class OrderedPlan(serializers.DictField):
    """A tier as it was when it was ordered, and the period.

    Prices are stored as exact text, and sent as JSON numbers.
    """

    def to_representation(self, value: dict[str, Any]) -> dict[str, Any]:
        prices = {name: Usd().to_representation(Decimal(str(value[name]))) for name in PRICES if name in value}
        return {**value, **prices}


class BoughtPlan(OrderedPlan):
    """The fields of a tier alone: a subscription has a separate field for its period (docs/spec.md: Subscription)."""

    def to_representation(self, value: dict[str, Any]) -> dict[str, Any]:
        return {name: kept for name, kept in super().to_representation(value).items() if name != "period"}


class AgentTermSerializer(Serializer):
    mode = serializers.ChoiceField(TermMode.choices)
    stops_at = serializers.DateTimeField(
        allow_null=True, help_text="When the pod of an unpaid agent is paused (trial and grace only)."
    )
    deletes_at = serializers.DateTimeField(
        allow_null=True, help_text="When an unpaid agent is deleted for good (trial and grace only)."
    )
    paid_till = serializers.DateTimeField(allow_null=True, help_text="End of the current paid period (paid only).")
    paid_provider = serializers.CharField(allow_null=True)
    renew_url = serializers.URLField(help_text="Where a human pays to renew.")


TermEnvelope = envelope("TermEnvelope", term=AgentTermSerializer())
