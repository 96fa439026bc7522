"""The request and response bodies of the stablecoin endpoints."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from billing.models.payments import UNIT_DIGITS
from billing.serializers.orders import MAX_ID
from billing.serializers.plans import OrderedPlan
from billing.vocabulary import Asset, OrderStatus, Period
from catalog.serializers.catalog import Usd
from catalog.tiers import known_tier
from catalog.vocabulary import TierId
from config.api import Choice, Serializer, Text, envelope


class Units(serializers.DecimalField):
    """An amount in a token's smallest unit, as text: it may have more digits than a JSON number can hold."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_digits=UNIT_DIGITS, decimal_places=0, coerce_to_string=True, **kwargs)


class AssetSerializer(Serializer):
    asset = serializers.ChoiceField(Asset.choices)
    symbol = serializers.CharField()


class CryptoInfoSerializer(Serializer):
    enabled = serializers.BooleanField(help_text="Whether orders are taken.")
    chain_id = serializers.IntegerField(help_text="The one EVM chain on which deposits count.")
    assets = AssetSerializer(many=True)


CryptoEnvelope = envelope("CryptoEnvelope", crypto=CryptoInfoSerializer())


class CreateCryptoOrderSerializer(Serializer):
    agent_id = Text(max_length=MAX_ID)
    asset = Choice(Asset.choices)
    tier = Text(required=False, validators=[known_tier], help_text="The plan to pay for; the agent's own by default.")
    period = Choice(Period.choices)
    coupon = Text(required=False, max_length=40, help_text="The code of a coupon: what it takes off is in `priceUsd`.")


class CryptoOrderSerializer(Serializer):
    id = serializers.CharField()
    user_id = serializers.CharField()
    agent_id = serializers.CharField()
    asset = serializers.ChoiceField(Asset.choices)
    amount = Units(help_text="Owed, in the token's smallest unit.")
    baseline = Units(
        help_text="What the deposit address held before; paid when what it holds beyond that reaches `amount`."
    )
    status = serializers.ChoiceField(OrderStatus.choices)
    created_at = serializers.DateTimeField()
    tx_hash = serializers.CharField(allow_null=True, help_text="The transfer with which the amount was reached.")
    paid_at = serializers.DateTimeField(allow_null=True)
    tier = serializers.ChoiceField(TierId.choices, allow_null=True)
    price_usd = Usd(allow_null=True)
    tier_snapshot = OrderedPlan(allow_null=True, help_text="The plan as it was ordered.")


class CryptoPaymentSerializer(Serializer):
    address = serializers.CharField(source="deposit_address.address", help_text="The agent's own deposit address.")
    chain_id = serializers.IntegerField(help_text="Money sent on another chain is not seen.")
    token_contract = serializers.CharField(source="token", help_text="The one token that counts.")
    amount = Units(help_text="Owed, in the token's smallest unit.")
    seen = Units(help_text="Received so far, also what is not final yet.")
    expires_at = serializers.DateTimeField(help_text="Money that comes later still counts for 14 days.")


CryptoOrderEnvelope = envelope("CryptoOrderEnvelope", order=CryptoOrderSerializer(), payment=CryptoPaymentSerializer())
CryptoOrdersEnvelope = envelope("CryptoOrdersEnvelope", orders=CryptoOrderSerializer(many=True))
