"""The bodies of this app's endpoints."""

from __future__ import annotations

import unicodedata
from typing import Any

from django.core.validators import RegexValidator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts import mailbox
from accounts.models import KEY_NAME_LENGTH, KEY_PREFIX_LENGTH, ApiKey
from config.api import ModelSerializer, Serializer, Text

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
            raise serializers.ValidationError(f"Ensure this field has no more than {KEY_NAME_LENGTH} characters.")
        return name


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


class KeyNameSerializer(Serializer):
    name = KeyName(trim_whitespace=True)


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


class NewKeySerializer(Serializer):
    key = ApiKeySerializer()
    secret = serializers.CharField(help_text="`ak_live_` and 40 characters. Shown only here, and never again.")
