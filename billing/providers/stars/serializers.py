"""The request and response bodies of `/stars`, and the updates that Telegram sends."""

from rest_framework import serializers

from billing.models import StarsOrder
from billing.serializers.orders import NewOrderSerializer
from billing.serializers.plans import OrderedPlan
from billing.vocabulary import OrderStatus
from catalog.serializers.catalog import Usd
from catalog.vocabulary import TierId
from config.api import Entries, ModelSerializer, Serializer, envelope
from config.numbers import Whole

MAX_ENTRIES = 256  # a message of Telegram has about a hundred fields


class StarsInfoSerializer(Serializer):
    enabled = serializers.BooleanField(help_text="Whether stars can be paid with here.")
    bot_username = serializers.CharField(help_text="The bot that sells; empty where none is configured.")
    star_usd = Usd(help_text="What one star is worth in USD; prices are divided by it and rounded up.")


StarsEnvelope = envelope("StarsEnvelope", stars=StarsInfoSerializer())


class StarsOrderSerializer(ModelSerializer):
    tier = serializers.ChoiceField(TierId.choices, allow_null=True)
    price_usd = Usd(allow_null=True)
    tier_snapshot = OrderedPlan(
        allow_null=True, help_text="The plan as it was when ordered, and `period`; it decides, whatever changes later."
    )
    status = serializers.ChoiceField(OrderStatus.choices)
    paid_at = serializers.DateTimeField(allow_null=True)

    class Meta:
        model = StarsOrder
        fields = (
            "id",
            "user_id",
            "agent_id",
            "amount_stars",
            "status",
            "created_at",
            "paid_at",
            "tier",
            "price_usd",
            "tier_snapshot",
        )


class StarsPaymentSerializer(Serializer):
    invoice_url = serializers.URLField(source="invoice_link", help_text="A link to open in Telegram: anybody may pay.")
    expires_at = serializers.DateTimeField(help_text="When the invoice stops being payable.")


StarsOrderEnvelope = envelope("StarsOrderEnvelope", order=StarsOrderSerializer(), payment=StarsPaymentSerializer())
StarsOrdersEnvelope = envelope("StarsOrdersEnvelope", orders=StarsOrderSerializer(many=True))


class CreateStarsOrderSerializer(NewOrderSerializer):
    pass


class TelegramUpdateSerializer(serializers.Serializer[None]):
    """What Telegram sends, in its own names; of a message only payments and refunds matter."""

    update_id = Whole(required=False)
    message = Entries(required=False, max_length=MAX_ENTRIES)
    pre_checkout_query = Entries(required=False, max_length=MAX_ENTRIES)
