"""The wire shapes of an agent's log."""

from __future__ import annotations

from datetime import UTC, datetime

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from agents.pod.logs.lines import Level, LogSource
from agents.watching import logs
from agents.watching.logs import LogEntry
from config.api import Choice, Serializer, Text
from config.numbers import QueryNumber


class ListLogsSerializer(Serializer):
    """The query of `GET /agents/{id}/logs`."""

    after = Text(
        required=False,
        max_length=logs.MAX_CURSOR,
        help_text="The `cursor` of the page before, or `oldest` for the first line that is kept.",
    )
    limit = QueryNumber(
        min_value=1,
        max_value=logs.MAX_PAGE,
        required=False,
        help_text=f"Lines on a page, fewer where they are long; {logs.PAGE} if absent.",
    )
    source = Choice(choices=[source.value for source in LogSource], required=False)  # type: ignore[assignment]  # a field's own name for its origin


class LogEntrySerializer(Serializer):
    """One line. `level` is null where the line does not say it."""

    time = serializers.SerializerMethodField()
    source = serializers.ChoiceField(  # type: ignore[assignment]  # as above
        source="line.source", choices=[source.value for source in LogSource]
    )
    level = serializers.ChoiceField(source="line.level", choices=[level.value for level in Level], allow_null=True)
    text = serializers.CharField(source="line.text")

    @extend_schema_field(serializers.DateTimeField())
    def get_time(self, entry: LogEntry) -> str:
        return datetime.fromtimestamp(entry.line.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class LogsEnvelope(Serializer):
    """`cursor` is null while the agent has no log at all."""

    logs = LogEntrySerializer(many=True)
    cursor = serializers.CharField(allow_null=True)
    live = serializers.BooleanField(help_text="Whether the running pod told this; else it is what a pod has left.")
    gap = serializers.BooleanField(help_text="Whether lines before the first are not kept any more.")
