"""The wire shapes of customers' own hostnames (docs/spec.md: DomainCheck)."""

from rest_framework import serializers

from agents.domains.check import DnsStatus, HttpsStatus
from agents.serializers.agents import AgentSerializer
from config.api import Serializer, Text, envelope

MAX_DOMAIN_CHARACTERS = 1_000  # any longer text is no name; agents/domains/names.py checks the rest


class PutDomainSerializer(Serializer):
    domain = Text(max_length=MAX_DOMAIN_CHARACTERS)


class AskDomainSerializer(Serializer):
    """The query of `GET /domain-check`."""

    domain = Text(max_length=MAX_DOMAIN_CHARACTERS)
    https = serializers.BooleanField(required=False, default=False)


class DomainDnsSerializer(Serializer):
    status = serializers.ChoiceField(choices=[status.value for status in DnsStatus])
    addresses = serializers.ListField(child=serializers.CharField())


class DomainHttpsSerializer(Serializer):
    """`skipped` when DNS does not lead here yet, or when nobody asked for it."""

    status = serializers.ChoiceField(choices=[status.value for status in HttpsStatus])


class DomainCheckSerializer(Serializer):
    """`expectedIp` is the address that the A record of the hostname must carry."""

    domain = serializers.CharField()
    expected_ip = serializers.CharField()
    dns = DomainDnsSerializer()
    https = DomainHttpsSerializer()


class DomainRecordSerializer(Serializer):
    """A record to be set where the hostname's DNS is kept."""

    type = serializers.ChoiceField(choices=["TXT", "A", "AAAA"])
    name = serializers.CharField()
    value = serializers.CharField()


DomainCheckEnvelope = envelope("DomainCheckEnvelope", check=DomainCheckSerializer())


class AgentDomainEnvelope(Serializer):
    agent = AgentSerializer()
    check = DomainCheckSerializer()
    records = DomainRecordSerializer(many=True)
