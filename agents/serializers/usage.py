"""The wire shapes of what an agent's model calls took."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agents.pod.gateway.spending.open_turns import TurnKind
from agents.spending.usage import UsageBy
from catalog.serializers.catalog import Usd
from config.api import Choice, Serializer, envelope
from config.moments import DayText


class UsageQuerySerializer(Serializer):
    """The query of `GET /agents/{id}/usage`."""

    def get_fields(self) -> dict[str, Any]:  # `from` is no name in Python
        return {
            "from": DayText(
                required=False,
                source="first",
                help_text="First day, UTC; the first of the month of `to` if absent.",
            ),
            "to": DayText(required=False, source="last", help_text="The last day; today if absent."),
            "by": Choice(
                choices=[one.value for one in UsageBy],
                required=False,
                help_text="What rows are about; `day` if absent.",
            ),
        }


class _Amounts(Serializer):
    calls = serializers.IntegerField(help_text="All model calls, failed ones too.")
    failed_calls = serializers.IntegerField(source="failed", help_text="Calls that the provider refused or broke off.")
    estimated_calls = serializers.IntegerField(
        source="estimated", help_text="Calls of which the provider told no tokens: theirs are estimated."
    )
    unpriced_calls = serializers.IntegerField(
        source="unpriced", help_text="Calls of a model without a price in the catalog: `usd` is without them."
    )
    input_tokens = serializers.IntegerField(source="input", help_text="Of the requests, cached ones too.")
    cached_tokens = serializers.IntegerField(source="cached", help_text="Of these: read from the provider's cache.")
    cache_write_tokens = serializers.IntegerField(source="written", help_text="Of these: written to the cache.")
    output_tokens = serializers.IntegerField(source="output", help_text="Of the answers, reasoning too.")
    reasoning_tokens = serializers.IntegerField(source="reasoning", help_text="Of these: reasoning.")
    usd = Usd(allow_null=True, help_text="By the catalog's prices; null if no call has a price.")


class UsageTotalSerializer(_Amounts):
    """All calls of these days."""


class UsageRowSerializer(_Amounts):
    """The calls of one day, model, conversation or API key. Only the names that `by` asked for are there."""

    day = serializers.DateField(required=False)
    model = serializers.CharField(
        required=False, help_text="`<provider>:<model name>`; `*` are the further ones of a day with very many."
    )
    kind = serializers.ChoiceField(
        choices=[kind.value for kind in TurnKind],
        required=False,
        help_text="What asked: a chat, a peer (a2a), a test, several at once (shared), or the engine by itself.",
    )
    session = serializers.CharField(required=False, help_text="The conversation; empty if it is not known.")
    key_id = serializers.CharField(
        required=False, source="api_key_id", help_text="The API key whose turns made the calls."
    )
    key_name = serializers.CharField(required=False, source="api_key__name")


class ModelCostsSerializer(Serializer):
    """What the agent's model calls took in these days. The newest 20 seconds may be missing."""

    def get_fields(self) -> dict[str, Any]:
        return {
            "from": serializers.DateField(source="first"),
            "to": serializers.DateField(source="last"),
            "by": serializers.ChoiceField(choices=[one.value for one in UsageBy]),
            "total": UsageTotalSerializer(),
            "rows": UsageRowSerializer(many=True),
            "hasMore": serializers.BooleanField(source="has_more", help_text="Whether there are more than 1,000 rows."),
        }


UsageEnvelope = envelope("UsageEnvelope", usage=ModelCostsSerializer())
