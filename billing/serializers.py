"""The bodies of billing's endpoints."""

from __future__ import annotations

from rest_framework import serializers

from billing.vocabulary import TermMode
from config.api import Serializer


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


class TermEnvelope(Serializer):
    term = AgentTermSerializer()
