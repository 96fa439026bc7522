"""`/agents/{id}/v1`: OpenAI's own client talks to an agent, with only a base URL and an API key."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import openai
import pytest
from django.test import Client
from django.utils import timezone
from openai.types.chat import ChatCompletion
from rest_framework.test import APIClient

from accounts import keys
from accounts.models import User
from agents.models import Agent, Desired, Reason
from agents.running import lifecycle
from tests.agents.conftest import settle
from tests.agents.views.conftest import GatewayOf
from tests.doubles.bridge import BridgeDouble

pytestmark = pytest.mark.django_db


@pytest.fixture
def key(owner: User) -> str:
    return keys.create(owner, name="for a client", now=timezone.now())[1]


class DjangoTransport(httpx2.BaseTransport):
    """Sends the client's requests as Django's test client does, inside the test's transaction."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = {name: value for name, value in request.headers.items() if name not in {"host", "content-length"}}
        kind = headers.pop("content-type", "")
        answer: Any = Client(raise_request_exception=False).generic(
            request.method, request.url.path, request.read(), kind, headers=headers
        )
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        return httpx2.Response(answer.status_code, headers=dict(answer.headers), stream=httpx2.ByteStream(body))


@pytest.fixture
def ai(running: Agent, key: str, gateway_of: GatewayOf) -> Iterator[openai.OpenAI]:
    gateway_of(running)
    base = f"http://testserver/agents/{running.pk}/v1"
    with (
        httpx2.Client(transport=DjangoTransport()) as http,
        openai.OpenAI(base_url=base, api_key=key, http_client=http, max_retries=0) as client,
    ):
        yield client


def ask(ai: openai.OpenAI, *said: tuple[str, Any], **more: Any) -> ChatCompletion:
    messages: list[Any] = [{"role": role, "content": content} for role, content in said]
    answer: ChatCompletion = ai.chat.completions.create(model="any", messages=messages, **more)
    return answer


def why(refused: openai.APIStatusError) -> str:
    """The message of our error body. The client keeps the body in its exception."""
    body: dict[str, str] = refused.response.json()
    return body["message"]


def test_a_message_is_answered_by_the_engine(ai: openai.OpenAI, bridge: BridgeDouble) -> None:
    answer = ask(ai, ("user", "hi"))
    assert answer.choices[0].message.content == "you said hi"
    assert (answer.choices[0].message.role, answer.choices[0].finish_reason) == ("assistant", "stop")
    assert (answer.object, answer.model, answer.usage) == ("chat.completion", "any", None)
    assert [turn.message for turn in bridge.turns] == ["hi"]


def test_the_reply_comes_in_pieces(ai: openai.OpenAI) -> None:
    with ai.chat.completions.create(model="any", messages=[{"role": "user", "content": "hi"}], stream=True) as chunks:
        came = list(chunks)
    assert [chunk.choices[0].delta.content for chunk in came] == ["", "you said ", "hi", None]
    assert [chunk.choices[0].finish_reason for chunk in came] == [None, None, None, "stop"]
    assert (came[0].choices[0].delta.role, len({chunk.id for chunk in came})) == ("assistant", 1)


def test_a_file_is_named_in_the_text_for_the_protocol_has_no_place_for_it(
    ai: openai.OpenAI, bridge: BridgeDouble
) -> None:
    link = {"kind": "link", "name": "a.png", "media_type": "image/png", "url": "https://example.com/a.png"}
    part: dict[str, Any] = {"type": "part", "part": link}
    bridge.turn = lambda _: [{"type": "delta", "text": "here"}, part, {"type": "done", "reply": "here"}]
    said = "here\n\n[file a.png, image/png: https://example.com/a.png]"
    assert ask(ai, ("user", "hi")).choices[0].message.content == said
    with ai.chat.completions.create(model="any", messages=[{"role": "user", "content": "hi"}], stream=True) as chunks:
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks).strip() == said
    bridge.turn = lambda _: [part, {"type": "done", "reply": ""}]
    assert ask(ai, ("user", "hi")).choices[0].message.content == said.removeprefix("here\n\n")


def test_a_user_has_one_conversation_and_only_what_is_new_is_said_in_it(
    ai: openai.OpenAI, bridge: BridgeDouble
) -> None:
    first = [("system", "Be brief."), ("user", "My boat is called Nautilus.")]
    ask(ai, *first, user="ann@example.com")
    ask(ai, *first, ("assistant", "Fine."), ("user", "What is its name?"), user="ann@example.com")
    ask(ai, ("user", "hi"), user="bob@example.com")
    assert [turn.message for turn in bridge.turns] == [
        "Be brief.\n\nMy boat is called Nautilus.",
        "What is its name?",
        "hi",
    ]
    anns, again, bobs = (turn.session_id for turn in bridge.turns)
    assert anns == again != bobs
    assert "ann" not in anns


def test_a_header_names_the_conversation_that_chat_has_too(
    ai: openai.OpenAI, client: APIClient, running: Agent, bridge: BridgeDouble
) -> None:
    answer = ai.chat.completions.with_raw_response.create(
        model="any", messages=[{"role": "user", "content": "one"}], extra_headers={"Session-Id": "talk-1"}
    )
    assert answer.headers["Session-Id"] == "talk-1"
    client.post(f"/agents/{running.pk}/chat", {"message": "two", "sessionId": "talk-1"}, format="json")
    assert [(turn.session_id, turn.message) for turn in bridge.turns] == [("talk-1", "one"), ("talk-1", "two")]


def test_without_a_name_the_whole_conversation_is_one_turn_of_a_new_one(
    ai: openai.OpenAI, bridge: BridgeDouble
) -> None:
    ask(ai, ("user", "My boat is called Nautilus."), ("assistant", "Fine."), ("user", "What is its name?"))
    ask(ai, ("user", "hi"))
    assert bridge.turns[0].message == (
        "The conversation so far:\n\n[user]\nMy boat is called Nautilus.\n\n[assistant]\nFine.\n\n"
        "What to answer now:\n\nWhat is its name?"
    )
    assert len({turn.session_id for turn in bridge.turns}) == 2


def test_text_in_parts_is_taken(ai: openai.OpenAI, bridge: BridgeDouble) -> None:
    ask(ai, ("user", [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]))
    assert bridge.turns[0].message == "one\ntwo"


def test_without_a_model_key_the_reply_is_empty(
    running: Agent, key: str, gateway_of: GatewayOf, ai: openai.OpenAI
) -> None:
    gateway_of(running, llm_key=None)
    assert ask(ai, ("user", "hi")).choices[0].message.content == ""


def test_the_agent_is_the_one_model(ai: openai.OpenAI, running: Agent) -> None:
    models = list(ai.models.list())
    assert [(model.id, model.owned_by, model.object) for model in models] == [(running.pk, "agentpods", "model")]
    assert ai.models.retrieve(running.pk) == models[0]
    with pytest.raises(openai.NotFoundError) as refused:
        ai.models.retrieve("gpt-6")
    assert why(refused.value) == f"no such model: the only one is {running.pk}"


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("field", "messages"),
    [
        ("messages", []),
        ("messages", [("assistant", "x")]),
        ("messages", [("user", "x"), ("system", "y")]),
        ("messages", [("user", " ")]),
        ("messages[0].role", [("tool", "x"), ("user", "x")]),
        ("messages[0].role", [(None, "x")]),
        ("messages[0].content", [("user", None)]),
        ("messages[0].content", [("user", 5)]),
        ("messages[0].content", [("user", [{"type": "text", "text": "x"}] * 101)]),
        ("messages[0].content[0]", [("user", [{"type": "image_url", "image_url": {"url": "x"}}])]),
        ("messages[0].content[0]", [("user", [{"type": "text", "text": 5}])]),
        ("messages[1].content[0]", [("user", "x"), ("user", ["x"])]),
        ("messages", [("user", "x")] * 2001),
        ("65537 bytes", [("user", "x" * 65_537)]),
        ("name the conversation with 'user'", [("user", "x" * 70_000), ("assistant", "y"), ("user", "z")]),
    ],
)  # fmt: skip
def test_what_cannot_be_said_is_400_that_names_it(
    ai: openai.OpenAI, bridge: BridgeDouble, field: str, messages: list[tuple[str, Any]]
) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        ask(ai, *messages)
    assert field in why(refused.value)
    assert bridge.turns == []


@pytest.mark.parametrize("more", [{"n": 2}, {"user": "x" * 513}, {"extra_body": {"stream": "yes"}},
                                  {"extra_headers": {"Session-Id": "a/b"}}])  # fmt: skip
def test_what_cannot_be_asked_for_is_400(ai: openai.OpenAI, more: dict[str, Any]) -> None:
    with pytest.raises(openai.BadRequestError):
        ask(ai, ("user", "hi"), **more)


def test_what_the_agent_decides_itself_is_ignored_and_named(ai: openai.OpenAI) -> None:
    answer = ai.chat.completions.with_raw_response.create(
        model="any", messages=[{"role": "user", "content": "hi"}], temperature=0.2, max_tokens=5
    )
    assert answer.headers["Ignored-Fields"] == "max_tokens,temperature"


def test_failures_are_what_its_client_knows(ai: openai.OpenAI, running: Agent, bridge: BridgeDouble) -> None:
    bridge.turn = lambda turn: [{"type": "error", "hop": "model", "message": "the provider refused the key"}]
    with pytest.raises(openai.InternalServerError) as failed:
        ask(ai, ("user", "hi"))
    assert why(failed.value).startswith("model: the provider refused the key")
    bridge.turn = lambda turn: [
        {"type": "delta", "text": "well"}, {"type": "error", "hop": "model", "message": "it broke off"}
    ]  # fmt: skip
    stream = ai.chat.completions.create(model="any", messages=[{"role": "user", "content": "hi"}], stream=True)
    with pytest.raises(openai.APIError, match="model: it broke off"), stream:
        list(stream)
    settle(lifecycle.pause(running, reason=Reason.OWNER, actor="user:x"))
    with pytest.raises(openai.ConflictError) as refused:
        ask(ai, ("user", "hi"))
    assert "resume starts it" in why(refused.value)
    Agent.objects.filter(pk=running.pk).update(desired=Desired.DELETED)
    with pytest.raises(openai.NotFoundError):
        ask(ai, ("user", "hi"))


def test_a_key_that_is_none_is_401(ai: openai.OpenAI) -> None:
    with pytest.raises(openai.AuthenticationError):
        ask(ai.with_options(api_key="ak_live_wrong"), ("user", "hi"))


def test_whoever_hangs_up_ends_the_turn(client: APIClient, running: Agent, ai: openai.OpenAI) -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "stream": True}
    answer: Any = client.post(f"/agents/{running.pk}/v1/chat/completions", body, format="json")
    first = json.loads(next(iter(answer.streaming_content)).removeprefix(b"data: "))
    assert first["model"] == running.pk
    answer.close()
    assert list(answer.streaming_content) == []
