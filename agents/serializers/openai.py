"""The wire shapes of the OpenAI protocol. The names are that protocol's, not ours, so they stay as they are."""

from typing import Any

from rest_framework import serializers

from agents.talking import completions
from config.api import Entries, Flag, Several, Text
from config.numbers import Whole


class CompletionRequestSerializer(serializers.Serializer[Any]):
    """A chat completion as OpenAI's clients ask for it. What is not listed is ignored: the agent decides it itself."""

    default_error_messages = {"invalid": "must be an object"}

    model = Text(required=False, max_length=200)
    messages = Several(child=Entries(child=serializers.JSONField(), max_length=20), max_length=completions.MAX_MESSAGES)
    stream = Flag(required=False, allow_null=True)
    user = Text(required=False, allow_null=True, max_length=completions.MAX_USER_CHARACTERS)
    n = Whole(required=False, allow_null=True, min_value=1, max_value=1)


class CompletionMessageSerializer(serializers.Serializer[Any]):
    role = serializers.CharField()
    content = serializers.CharField()
    refusal = serializers.CharField(allow_null=True)


class CompletionChoiceSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    message = CompletionMessageSerializer()
    logprobs = serializers.JSONField(allow_null=True)
    finish_reason = serializers.CharField()


class CompletionSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    object = serializers.CharField()
    created = serializers.IntegerField()
    model = serializers.CharField()
    choices = CompletionChoiceSerializer(many=True)


class AgentModelSerializer(serializers.Serializer[Any]):
    """The agent, as a model that a client can choose."""

    id = serializers.CharField()
    object = serializers.CharField()
    created = serializers.IntegerField()
    owned_by = serializers.CharField()


class AgentModelsSerializer(serializers.Serializer[Any]):
    object = serializers.CharField()
    data = AgentModelSerializer(many=True)  # type: ignore[assignment]  # the name is the protocol's
