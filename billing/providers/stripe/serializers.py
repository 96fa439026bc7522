"""The request and response bodies of `/stripe`, and the events that Stripe sends."""

from rest_framework import serializers

from billing.models import StripeOrder
from billing.serializers.orders import NewOrderSerializer
from billing.serializers.plans import OrderedPlan
from billing.vocabulary import OrderStatus
from catalog.serializers.catalog import Usd
from catalog.vocabulary import TierId
from config.api import ModelSerializer, Serializer, Text, envelope


class StripeOrderSerializer(ModelSerializer):
    tier = serializers.ChoiceField(TierId.choices, allow_null=True)
    price_usd = Usd(allow_null=True, help_text="What the card is charged for each period, tax and all.")
    tier_snapshot = OrderedPlan(
        allow_null=True, help_text="The plan as it was when ordered, and `period`; it decides, whatever changes later."
    )
    status = serializers.ChoiceField(OrderStatus.choices)
    paid_at = serializers.DateTimeField(allow_null=True)

    class Meta:
        model = StripeOrder
        fields = (
            "id",
            "user_id",
            "agent_id",
            "status",
            "created_at",
            "paid_at",
            "tier",
            "price_usd",
            "tier_snapshot",
        )


class StripePaymentSerializer(Serializer):
    checkout_url = serializers.URLField(help_text="A page of Stripe's where a person enters the card.")
    expires_at = serializers.DateTimeField(help_text="When the checkout stops being payable.")


StripeOrderEnvelope = envelope("StripeOrderEnvelope", order=StripeOrderSerializer(), payment=StripePaymentSerializer())
StripeOrdersEnvelope = envelope("StripeOrdersEnvelope", orders=StripeOrderSerializer(many=True))


class CreateStripeOrderSerializer(NewOrderSerializer):
    coupon = Text(required=False, allow_blank=True, max_length=40, help_text="Cards take none: one is refused.")


class PortalSerializer(Serializer):
    url = serializers.URLField(help_text="A page of Stripe's, for some minutes.")


PortalEnvelope = envelope("PortalEnvelope", portal=PortalSerializer())


class StripeEventSerializer(serializers.Serializer[None]):
    """What Stripe sends, in its own names. It is a hint: whatever changed is asked for anew."""

    id = serializers.CharField()
    type = serializers.CharField()
    created = serializers.IntegerField()
