"""The wire shapes of an agent's limits."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from accounts.serializers import UsdLimit
from catalog.serializers.catalog import Usd
from config.api import ExactSerializer, Flag, Serializer, envelope
from config.numbers import UsdNumber, Whole

MOST_TOKENS, MOST_CALLS = 1_000_000_000, 100_000


def _usd(words: str) -> UsdNumber:
    return UsdNumber(required=False, allow_null=True, max_digits=12, help_text=words)


class PutLimitsSerializer(ExactSerializer):
    """All limits of an agent."""

    usd_per_day = _usd("For a day, UTC, by the catalog's prices.")
    usd_per_month = _usd("For a month, UTC.")
    tokens_per_turn = Whole(required=False, allow_null=True, min_value=1, max_value=MOST_TOKENS)
    requests_per_minute = Whole(required=False, allow_null=True, min_value=1, max_value=MOST_CALLS)
    stopped = Flag(required=False, help_text="Refuse every model call until this is false again.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return {
            "day_usd": attrs.get("usd_per_day"),
            "month_usd": attrs.get("usd_per_month"),
            "turn_tokens": attrs.get("tokens_per_turn"),
            "minute_calls": attrs.get("requests_per_minute"),
            "is_stopped": attrs.get("stopped", False),
        }


class LimitsSerializer(Serializer):
    usd_per_day = Usd(source="day_usd", allow_null=True)
    usd_per_month = Usd(source="month_usd", allow_null=True)
    tokens_per_turn = serializers.IntegerField(source="turn_tokens", allow_null=True)
    requests_per_minute = serializers.IntegerField(source="minute_calls", allow_null=True)
    stopped = serializers.BooleanField(source="is_stopped")


class PutAccountLimitsSerializer(ExactSerializer):
    """All limits of an account."""

    usd_per_day = _usd("For a day, UTC, by the catalog's prices.")
    usd_per_month = _usd("For a month, UTC.")
    stopped = Flag(required=False, help_text="Refuse every model call of all agents until this is false again.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return {
            "day_usd": attrs.get("usd_per_day"),
            "month_usd": attrs.get("usd_per_month"),
            "is_stopped": attrs.get("stopped", False),
        }


class AccountLimitsSerializer(Serializer):
    usd_per_day = Usd(source="day_usd", allow_null=True)
    usd_per_month = Usd(source="month_usd", allow_null=True)
    stopped = serializers.BooleanField(source="is_stopped")


class PutKeyLimitsSerializer(ExactSerializer):
    """Both limits of a key."""

    usd_per_day = UsdLimit(
        source="day_usd", required=False, allow_null=True, help_text="For a day, UTC, by the catalog's prices."
    )
    usd_per_month = UsdLimit(source="month_usd", required=False, allow_null=True, help_text="For a month, UTC.")


class KeyLimitsSerializer(Serializer):
    usd_per_day = Usd(source="key.day_usd", allow_null=True)
    usd_per_month = Usd(source="key.month_usd", allow_null=True)
    usd_today = Usd(source="today", help_text="What model calls of the key's turns have cost today.")
    usd_this_month = Usd(source="month")


KeyLimitsEnvelope = envelope("KeyLimitsEnvelope", limits=KeyLimitsSerializer())
AccountLimitsEnvelope = envelope("AccountLimitsEnvelope", limits=AccountLimitsSerializer())
LimitsEnvelope = envelope("LimitsEnvelope", limits=LimitsSerializer())
