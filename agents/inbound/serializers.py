"""What services send, in their own names."""

from __future__ import annotations

from rest_framework import serializers

from config.api import Serializer


class WhatsappCallSerializer(Serializer):
    """A call of Meta's webhook. Of its entries those of the field `messages` count, with messages in them."""

    object = serializers.CharField()
    entry = serializers.ListField(child=serializers.DictField())
