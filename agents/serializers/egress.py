"""The wire shapes of an agent's egress broker."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rest_framework import serializers

from agents.egress import rules
from agents.pod.gateway.egress.hosts import MOST_CHARACTERS
from config.api import Choice, Serializer, Several, Text, envelope
from config.moments import DayText

_HOST_CHARACTERS = MOST_CHARACTERS + 10


def _hosts(most: int, words: str, **given: Any) -> Several:
    return Several(child=Text(max_length=_HOST_CHARACTERS), max_length=most, help_text=words, **given)


class PutEgressSerializer(Serializer):
    allow_list = Choice(choices=["off", "on"], help_text="`on`: the engine may ask the hosts of the list alone.")
    hosts = _hosts(
        rules.MOST_HOSTS,
        "`example.com`, `*.example.com` (all names below it), either with a port such as `:8443`; without one, ports"
        " 443 and 80 are meant. The hosts of secrets are allowed without being here.",
        required=False,
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return {"is_limited": attrs["allow_list"] == "on", "hosts": attrs.get("hosts", [])}


class PutEgressSecretSerializer(Serializer):
    hosts = _hosts(
        rules.MOST_SECRET_HOSTS, "Where it is sent, over TLS only; without a port, port 443 is meant.", min_length=1
    )
    header = Text(max_length=128, help_text="The header that carries it, such as `Authorization`.")
    prefix = Text(
        max_length=rules.MOST_PREFIX_CHARACTERS,
        required=False,
        allow_blank=True,
        help_text="What stands before it in the header, such as `Bearer ` with its space.",
    )
    value = Text(
        max_length=rules.VALUE_CHARACTERS.stop - 1,
        required=False,
        write_only=True,
        help_text="The secret. Absent: the stored one stays. Needed again for each host that is new.",
    )


class StoredMoment(serializers.DateTimeField):
    """A time that is stored as text."""

    def to_representation(self, value: Any) -> Any:
        return super().to_representation(datetime.fromisoformat(value))


class EgressSecretSerializer(Serializer):
    """A secret as it is shown; its value is write-only."""

    name = serializers.CharField()
    hosts = serializers.ListField(child=serializers.CharField())
    header = serializers.CharField()
    prefix = serializers.CharField()
    set_at = StoredMoment(help_text="When its value was set.")


class EgressSerializer(Serializer):
    allow_list = serializers.SerializerMethodField()
    hosts = serializers.ListField(child=serializers.CharField())
    secrets = EgressSecretSerializer(many=True)
    enforced = serializers.BooleanField(
        source="is_enforced",
        help_text="Whether the network itself keeps the engine from going round the broker. If not, an engine that is"
        " told what to do by others can reach hosts that are not on the list.",
    )

    def get_allow_list(self, shown: Any) -> str:
        return "on" if shown.is_limited else "off"


class EgressLogQuerySerializer(Serializer):
    """The query of `GET /agents/{id}/egress/log`."""

    def get_fields(self) -> dict[str, Any]:  # `from` is no name in Python
        return {
            "from": DayText(
                required=False, source="first", help_text="First day, UTC; six days before `to` if absent."
            ),
            "to": DayText(required=False, source="last", help_text="The last day; today if absent."),
        }


class EgressVisitsSerializer(Serializer):
    day = serializers.DateField()
    host = serializers.CharField(
        help_text="Name and port; `*` counts the others of a day that has 500 allowed or 200 refused hosts already."
    )
    refused = serializers.BooleanField(source="is_refused")
    count = serializers.IntegerField()
    bytes_sent = serializers.IntegerField(source="sent", help_text="From the engine; inside of TLS where it is ended.")
    bytes_received = serializers.IntegerField(source="received")


class EgressLogSerializer(Serializer):
    rows = EgressVisitsSerializer(many=True)
    has_more = serializers.BooleanField(help_text="Whether there are more than 1,000 rows in these days.")

    def get_fields(self) -> dict[str, Any]:
        days = {"from": serializers.DateField(source="first"), "to": serializers.DateField(source="last")}
        return {**days, **super().get_fields()}


EgressEnvelope = envelope("EgressEnvelope", egress=EgressSerializer())
EgressLogEnvelope = envelope("EgressLogEnvelope", log=EgressLogSerializer())
