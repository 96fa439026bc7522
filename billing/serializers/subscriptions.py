"""The request and response bodies of subscriptions, quotes and payment providers."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from billing.serializers.plans import BoughtPlan
from billing.vocabulary import LICENSED, Period, Provider, SubscriptionStatus
from catalog.serializers.catalog import Usd
from catalog.vocabulary import TierId
from config.api import Choice, Entries, Serializer, Text, envelope
from config.crypto import readable
from config.numbers import QueryNumber
from config.paging import MAX_CURSOR, MAX_PAGE

MAX_KEY_CHARACTERS = 200
SOLD_BY_KEY = [provider for provider in Provider.values if provider in LICENSED]
BOUGHT = [provider for provider in Provider.values if provider != Provider.INTERNAL]


class SubscriptionSerializer(Serializer):
    """A paid term for one agent, with the licence key that activated it."""

    id = serializers.CharField()
    user_id = serializers.CharField()
    agent_id = serializers.CharField()
    tier = serializers.ChoiceField(choices=TierId.values)
    period = serializers.ChoiceField(choices=Period.values)
    status = serializers.ChoiceField(choices=SubscriptionStatus.values)
    created_at = serializers.DateTimeField()
    price_usd = Usd()
    current_period_end = serializers.DateTimeField(help_text="Paid till then; the term ends there without a renewal.")
    provider = serializers.ChoiceField(choices=Provider.values, allow_null=True)
    license_key = serializers.CharField(allow_null=True)
    canceled_at = serializers.DateTimeField(allow_null=True)
    tier_snapshot = BoughtPlan(allow_null=True, help_text="The tier as it was when it was bought.")
    expired_at = serializers.DateTimeField(
        allow_null=True, help_text="When payment stopped verifying; the grace counts from here."
    )

    def to_representation(self, instance: Any) -> dict[str, Any]:
        body: dict[str, Any] = super().to_representation(readable(instance))
        return body


class CreateSubscriptionSerializer(Serializer):
    """`tier` and `period` only check what the key pays for: another value is refused."""

    agent_id = Text()
    tier = Choice(choices=TierId.values, required=False)
    period = Choice(choices=Period.values)
    provider = Choice(choices=SOLD_BY_KEY)
    license_key = Text(max_length=MAX_KEY_CHARACTERS, help_text="As its buyer got it.")


class MoveSubscriptionSerializer(Serializer):
    agent_id = Text(help_text="The agent that gets the time.")


class ChooseNextPlanSerializer(Serializer):
    tier = Choice(choices=TierId.values, help_text="A smaller plan than the subscription's.")


class NextPlanSerializer(Serializer):
    """The plan that follows when the paid time ends. `priceUsd` is what a period of it costs then."""

    subscription_id = serializers.CharField()
    tier = serializers.ChoiceField(choices=TierId.values)
    period = serializers.ChoiceField(choices=Period.values)
    price_usd = Usd()
    starts_at = serializers.DateTimeField(help_text="When what is paid now ends.")
    tier_snapshot = BoughtPlan(help_text="The tier as it was when it was chosen.")
    chosen_at = serializers.DateTimeField()


class AnyProvider(Choice):
    """Accepts every provider, but names only those that sell keys. The rule's refusal says where to pay the others."""

    def to_internal_value(self, data: Any) -> Any:
        return data if data in Provider.values else super().to_internal_value(data)


class AnySubscriptionSerializer(CreateSubscriptionSerializer):
    """Like CreateSubscriptionSerializer, but accepts other providers and a missing key. A rule refuses those later."""

    provider = AnyProvider(choices=SOLD_BY_KEY)
    license_key = Text(required=False, max_length=MAX_KEY_CHARACTERS)


class ListSubscriptionsSerializer(Serializer):
    """The query of `GET /subscriptions`."""

    agent_id = Text(required=False)
    limit = QueryNumber(min_value=1, max_value=MAX_PAGE, required=False)
    cursor = Text(required=False, max_length=MAX_CURSOR)


class AskQuoteSerializer(Serializer):
    """The query of `GET /subscriptions/quote`. `tier` is the agent's own if left out."""

    agent_id = Text()
    tier = Choice(choices=TierId.values, required=False)
    period = Choice(choices=Period.values)
    provider = Choice(choices=BOUGHT)
    coupon = Text(required=False, max_length=40, help_text="The code of a coupon: what it takes off is in `priceUsd`.")


class QuoteSerializer(Serializer):
    agent_id = serializers.CharField()
    tier = serializers.ChoiceField(choices=TierId.values)
    period = serializers.ChoiceField(choices=Period.values)
    provider = serializers.ChoiceField(choices=BOUGHT)
    price_usd = Usd()
    paid_till = serializers.DateTimeField(help_text="The end of the paid time if it were paid now.")
    tier_snapshot = BoughtPlan()


class PaymentProviderSerializer(Serializer):
    """A way to pay. `soon` cannot be paid with yet. `buyUrls` is by tier id."""

    id = serializers.ChoiceField(choices=BOUGHT)
    label = serializers.CharField()  # type: ignore[assignment]  # a field of that name, as in the spec
    buy_url = serializers.URLField(required=False)
    buy_urls = serializers.DictField(child=serializers.URLField(), required=False)
    note = serializers.CharField(required=False)
    status = serializers.ChoiceField(choices=["active", "soon"])

    def to_representation(self, instance: Any) -> dict[str, Any]:
        body = {
            "id": str(instance.id),
            "label": instance.label,
            "buyUrl": instance.buy_url,
            "buyUrls": instance.buy_urls,
            "note": instance.note,
            "status": "active" if instance.active else "soon",
        }
        return {name: value for name, value in body.items() if value}


class HintSerializer(serializers.Serializer[Any]):
    """What a provider tells when something changed, as far as it is read: which licence."""

    license_key = Text(required=False, allow_blank=True, max_length=MAX_KEY_CHARACTERS)
    subscription_id = Text(required=False, allow_blank=True, max_length=MAX_KEY_CHARACTERS)
    sale_id = Text(required=False, allow_blank=True, max_length=MAX_KEY_CHARACTERS)
    data = Entries(  # type: ignore[assignment]  # the wire name
        required=False, max_length=64, help_text="Lemon Squeezy: `attributes` has the key or the order."
    )


SubscriptionEnvelope = envelope("SubscriptionEnvelope", subscription=SubscriptionSerializer())
SubscriptionsEnvelope = envelope("SubscriptionsEnvelope", subscriptions=SubscriptionSerializer(many=True))
NextPlanEnvelope = envelope("NextPlanEnvelope", next_plan=NextPlanSerializer(allow_null=True))
QuoteEnvelope = envelope("QuoteEnvelope", quote=QuoteSerializer())
PaymentProvidersEnvelope = envelope("PaymentProvidersEnvelope", payment_providers=PaymentProviderSerializer(many=True))
