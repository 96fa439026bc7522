from rest_framework import serializers

from config.api import ModelSerializer, Serializer
from status.components import Health
from status.models import Incident

HEALTH = [health.value for health in Health]


class HealthSerializer(Serializer):
    status = serializers.ChoiceField(choices=["ok"])


class ChecksSerializer(Serializer):
    database = serializers.ChoiceField(choices=HEALTH)
    cache = serializers.ChoiceField(choices=HEALTH)
    queue = serializers.ChoiceField(choices=HEALTH)
    cluster = serializers.ChoiceField(choices=HEALTH, source="runtime")


class ReadinessSerializer(Serializer):
    status = serializers.ChoiceField(choices=["ok"])
    checks = ChecksSerializer()


class ComponentSerializer(Serializer):
    id = serializers.CharField()
    name = serializers.CharField()
    status = serializers.ChoiceField(choices=HEALTH)
    latency_ms = serializers.IntegerField(allow_null=True)
    checked_at = serializers.DateTimeField(allow_null=True)


class PlatformSerializer(Serializer):
    status = serializers.ChoiceField(choices=HEALTH)
    components = ComponentSerializer(many=True)
    version = serializers.CharField()
    catalog_updated_at = serializers.DateTimeField(allow_null=True)


class IncidentSerializer(ModelSerializer):
    class Meta:
        model = Incident
        fields = ("id", "title", "status", "started_at", "resolved_at", "components")


class IncidentsSerializer(Serializer):
    incidents = IncidentSerializer(many=True)
