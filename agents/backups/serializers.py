"""The wire shapes of backups (docs/spec.md: BackupEntry)."""

from rest_framework import serializers

from config.api import Serializer, envelope


class BackupEntrySerializer(Serializer):
    """One backup. `size` is of the data in it, in bytes."""

    name = serializers.CharField()
    size = serializers.IntegerField()
    created_at = serializers.DateTimeField(source="taken_at")


BackupEnvelope = envelope("BackupEnvelope", backup=BackupEntrySerializer())
BackupsEnvelope = envelope("BackupsEnvelope", backups=BackupEntrySerializer(many=True))
