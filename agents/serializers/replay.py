"""The wire shapes of the replay."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from agents.pod.gateway.replay.entries import EntryKind, TurnDoor
from agents.pod.turns.failures import Hop
from agents.replay.models import SESSION
from catalog.serializers.catalog import Usd
from config.api import Choice, FieldNames, Flag, Serializer, Text, envelope
from config.moments import Moment
from config.numbers import QueryNumber
from config.paging import MAX_CURSOR, MAX_PAGE


class _Known(serializers.CharField):
    """A text, null if there is none."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_null=True, **kwargs)

    def to_representation(self, value: Any) -> Any:
        return value or None


class _OneOf(serializers.ChoiceField):
    """A word, null if none is known."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_null=True, **kwargs)

    def to_representation(self, value: Any) -> Any:
        return value or None


class ReplayEntrySerializer(Serializer):
    """One thing that the agent did. What does not belong to its kind, or is not known, is null."""

    id = serializers.CharField()
    at = serializers.DateTimeField(source="created_at", help_text="When; of a model call, when it began.")
    kind = serializers.ChoiceField(
        choices=[kind.value for kind in EntryKind],
        help_text="`tool.call`: the model asked for a tool. `not.kept`: so many entries of this day had no room.",
    )
    door = _OneOf(
        choices=[door.value for door in TurnDoor],
        help_text="How the question came in. `engine`: by the engine itself, as a channel of its own or a schedule; "
        "`shared`: several turns ran at once, so it is not known for which one this was.",
    )
    session = _Known(help_text="The conversation.")
    turn = _Known(help_text="The same for all entries of one turn.")
    model = _Known(help_text="`<provider>:<model name>`")
    input_tokens = serializers.IntegerField(source="input", allow_null=True)
    cached_tokens = serializers.IntegerField(source="cached", allow_null=True)
    output_tokens = serializers.IntegerField(source="output", allow_null=True)
    estimated = serializers.BooleanField(source="is_estimated", help_text="The provider told no tokens.")
    usd = Usd(allow_null=True, help_text="By the catalog's prices.")
    duration_ms = serializers.IntegerField(source="ms", allow_null=True)
    hop = _OneOf(choices=[hop.value for hop in Hop], help_text="Of a turn that failed: who failed.")
    cause = _Known(help_text="Why it failed, as a word of `explain`.")
    error = _Known(help_text="Why it failed, for people.")
    tool = _Known(help_text="The tool's name.")
    asked = _Known(help_text="The first 200 characters of the question, without secrets.")
    answered = _Known(help_text="The first 200 characters of the answer, without secrets.")
    arguments = _Known(help_text="The first 200 characters of the tool's arguments, without secrets.")
    count = serializers.IntegerField(allow_null=True, help_text="Of `not.kept`: how many.")


class ListReplaySerializer(Serializer):
    """The query of `GET /agents/{id}/replay`."""

    session = Text(required=False, max_length=SESSION, help_text="Only this conversation.")
    kind = Choice(choices=[kind.value for kind in EntryKind], required=False)
    limit = QueryNumber(min_value=1, max_value=MAX_PAGE, required=False)
    cursor = Text(required=False, max_length=MAX_CURSOR)
    fields = FieldNames(of=ReplayEntrySerializer)  # type: ignore[assignment]  # a declared field; REST framework moves it

    def get_fields(self) -> dict[str, Any]:  # `from` is no name in Python
        span = {
            "from": Moment(required=False, source="first", help_text="Not before this moment."),
            "to": Moment(required=False, source="last", help_text="Not after this moment."),
        }
        return {**span, **super().get_fields()}


class DeleteReplaySerializer(Serializer):
    """The query of `DELETE /agents/{id}/replay`."""

    session = Text(required=False, max_length=SESSION, help_text="Only this conversation; all if absent.")


class PutReplaySerializer(Serializer):
    """The switch."""

    recording = Flag(help_text="False: nothing is recorded any more.")


class ReplayEnvelope(Serializer):
    """`recording` is the switch."""

    replay = ReplayEntrySerializer(many=True)
    recording = serializers.BooleanField()


ReplaySwitchEnvelope = envelope("ReplaySwitchEnvelope", recording=serializers.BooleanField())
