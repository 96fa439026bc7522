"""The bodies that services send, with the services' own names."""

from rest_framework import serializers

from config.api import Entries, Serializer, Several


class WhatsappCallSerializer(Serializer):
    """A call of Meta's webhook. Of its entries those of the field `messages` count, with messages in them."""

    object = serializers.CharField()
    entry = Several(child=Entries(child=serializers.JSONField(), max_length=20), max_length=1000)
