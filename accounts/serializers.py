"""The bodies of this app's endpoints."""

from __future__ import annotations

import unicodedata
from datetime import datetime
from typing import Any

from django.core.validators import RegexValidator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts import mailbox
from accounts.keys import KeyLimits
from accounts.models import ID_LENGTH, KEY_NAME_LENGTH, KEY_PREFIX_LENGTH, ApiKey
from accounts.scopes import Scope
from config.api import Choice, ExactSerializer, FieldNames, ModelSerializer, Serializer, Several, Text, json_type
from config.moments import Moment
from config.numbers import UsdNumber

ATTRIBUTION_LENGTH = 2_048
TRIMMED_KEY_NAME = rf"^\s*\S([\s\S]{{0,{KEY_NAME_LENGTH - 2}}}\S)?\s*$"


@extend_schema_field(OpenApiTypes.EMAIL)
class EmailText(Text):
    """An e-mail address, in its canonical form once validated."""

    def to_internal_value(self, data: Any) -> str:
        return mailbox.canonical(super().to_internal_value(data))


@extend_schema_field({"type": "string", "pattern": r"^\d{6}$"})
class CodeText(Text):
    """Six ASCII digits, as a string: 012345 is a code and no number."""

    def __init__(self, **kwargs: Any) -> None:
        digits = RegexValidator(r"\A[0-9]{6}\Z", "must be exactly six digits")
        super().__init__(validators=[digits], **kwargs)


@extend_schema_field({"type": "string", "pattern": TRIMMED_KEY_NAME, "description": "1 to 60 characters once trimmed."})
class KeyName(Text):
    """Trimmed before its length counts."""

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        if any(unicodedata.category(character) == "Cc" for character in name):
            raise serializers.ValidationError("may not contain control characters")
        if len(name) > KEY_NAME_LENGTH:  # no `max_length`: the document would show it for the untrimmed name
            raise serializers.ValidationError(f"has {len(name)} characters; at most {KEY_NAME_LENGTH}")
        return name


class ZonedMoment(Moment):
    """A point in time with its zone."""

    wanted = "not a point in time with its zone,"

    def to_internal_value(self, value: Any) -> datetime:
        if not isinstance(value, str):
            raise serializers.ValidationError(f"must be a string, not {json_type(value)}")
        return super().to_internal_value(value)

    def enforce_timezone(self, value: datetime) -> datetime:
        if value.tzinfo is None:
            raise serializers.ValidationError("must have a zone")
        return super().enforce_timezone(value)


@extend_schema_field({"type": "number", "minimum": 0.01, "maximum": 99_999_999.99})
class UsdLimit(UsdNumber):
    """The most that orders or model calls may cost."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_digits=10, **kwargs)


class RequestSerializer(Serializer):
    email = EmailText()

    class Meta:
        ref_name = "SignInCode"  # its name in /openapi.json


class RequestedSerializer(Serializer):
    ok = serializers.BooleanField()
    dev_code = serializers.CharField(
        required=False, help_text="The code itself, only where the server runs in a development mode that shows codes."
    )


class AttributionSerializer(Serializer):
    """Where the person came from."""

    anon_id = Text(max_length=ATTRIBUTION_LENGTH)
    utm_source = Text(max_length=ATTRIBUTION_LENGTH, required=False, allow_null=True, allow_blank=True, default=None)
    utm_medium = Text(max_length=ATTRIBUTION_LENGTH, required=False, allow_null=True, allow_blank=True, default=None)
    utm_campaign = Text(max_length=ATTRIBUTION_LENGTH, required=False, allow_null=True, allow_blank=True, default=None)
    referrer = Text(max_length=ATTRIBUTION_LENGTH, required=False, allow_null=True, allow_blank=True, default=None)


class VerifySerializer(Serializer):
    email = EmailText()
    code = CodeText()
    attribution = AttributionSerializer(required=False, allow_null=True, default=None)


class UserSerializer(Serializer):
    id = serializers.CharField()
    email = serializers.EmailField()


class VerifiedSerializer(Serializer):
    token = serializers.CharField(help_text="The session token, for 30 days. Shown only here.")
    user = UserSerializer()


class MeSerializer(Serializer):
    user = UserSerializer()


class CreateKeySerializer(ExactSerializer):
    name = KeyName(trim_whitespace=True)
    scopes = Several(
        child=Choice(choices=[scope.value for scope in Scope]),
        max_length=len(Scope),
        min_length=1,
        required=False,
        allow_null=True,
        default=None,
        help_text="What the key may do; each scope also lets it read. Without scopes it is a full key.",
    )
    agent_id = Text(
        required=False,
        allow_null=True,
        default=None,
        max_length=ID_LENGTH,
        help_text="The only agent that the key may see and change. Without it: all of the account.",
    )
    expires_at = ZonedMoment(
        required=False, allow_null=True, default=None, help_text="When the key stops working by itself, with its zone."
    )
    spend_limit_usd = UsdLimit(
        required=False,
        allow_null=True,
        default=None,
        help_text="The most that the orders of the key may cost together, in USD. Needs the scope `pay`.",
    )
    usd_per_day = UsdLimit(
        source="day_usd",
        required=False,
        allow_null=True,
        default=None,
        help_text="The most that model calls of the key's turns may cost in a day, UTC. Needs the scope `operate`.",
    )
    usd_per_month = UsdLimit(
        source="month_usd", required=False, allow_null=True, default=None, help_text="The same for a month, UTC."
    )

    class Meta:
        ref_name = "KeyName"  # its name in /openapi.json

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The name, and the limits that the key gets."""
        name, named = attrs.pop("name"), attrs.pop("scopes")
        scopes = None if named is None else frozenset(map(Scope, named))
        return {"name": name, "limits": KeyLimits(scopes=scopes, **attrs)}


class ApiKeySerializer(ModelSerializer):
    prefix = serializers.CharField(
        max_length=KEY_PREFIX_LENGTH, help_text="First 12 characters of the secret, for recognition in lists."
    )

    class Meta:
        model = ApiKey
        fields = ("id", "name", "prefix", "created_at", "last_used_at", "revoked_at")
        read_only_fields = fields


class KeysSerializer(Serializer):
    keys = ApiKeySerializer(many=True)


class ShownKeySerializer(Serializer):
    """All that can be read of a key, for `?fields=`. Without it keys look as in the interface: without their limits."""

    id = serializers.CharField()
    name = serializers.CharField()
    prefix = serializers.CharField()
    created_at = serializers.DateTimeField()
    last_used_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    scopes = serializers.ListField(child=serializers.CharField(), allow_null=True)
    agent_id = serializers.CharField(allow_null=True)
    expires_at = serializers.DateTimeField(allow_null=True)
    spend_limit_usd = serializers.FloatField(allow_null=True)
    usd_per_day = serializers.FloatField(source="day_usd", allow_null=True)
    usd_per_month = serializers.FloatField(source="month_usd", allow_null=True)


class ListKeysSerializer(Serializer):
    cursor = Text(required=False, allow_blank=True, help_text="From the `Link` header of the page before.")
    fields = FieldNames(of=ShownKeySerializer)  # type: ignore[assignment]  # a declared field; REST framework moves it


class NewKeySerializer(Serializer):
    key = ApiKeySerializer()
    secret = serializers.CharField(help_text="`ak_live_` and 40 characters. Shown only here, and never again.")
