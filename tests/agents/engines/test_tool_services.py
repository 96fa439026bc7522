"""Tools of the real hermes that use services of the owner, called by the model. The engine never gets a key."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import pytest

from agents.engines import ENGINES
from agents.engines.base import Engine
from tests.agents.engines.conftest import EnginePod
from tests.agents.pod.bridge.process import eventually
from tests.doubles.model_protocols import ToolCall
from tests.doubles.telegram import TOKEN, TelegramDouble
from tests.doubles.tool_services import KEY, PICTURE, SOUND, ToolServicesDouble

pytestmark = [pytest.mark.engines, pytest.mark.parametrize("engine", ["hermes"], indirect=True)]
KEYS = {"tavily": KEY, "openai": KEY}


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


@pytest.fixture
def services() -> Iterator[ToolServicesDouble]:
    with ToolServicesDouble() as double:
        yield double


def start(pod: EnginePod, services: ToolServicesDouble, toolset: str, **config: Any) -> None:
    secrets = dataclasses.replace(pod.spec.secrets, tool_keys=KEYS, tool_urls=services.urls)
    pod.spec = dataclasses.replace(pod.spec, secrets=secrets)
    pod.start(toolsets=[toolset], **config)


def called(pod: EnginePod, tool: str, **arguments: Any) -> str:
    """The model calls this tool. Returns the request that brings the tool's result to the model."""
    pod.model.tool_calls = [ToolCall(tool, arguments)]
    assert pod.say("do it", session=tool) == "pong"
    return str(pod.model.turns()[-1].body)


def test_the_web_is_searched_and_a_page_is_read(pod: EnginePod, services: ToolServicesDouble) -> None:
    start(pod, services, "web")
    assert "under the oak" in called(pod, "web_search", query="treasure")
    assert "the treasure" in called(pod, "web_extract", urls=["http://93.184.215.14/"])
    assert services.keys == {KEY}
    assert json.loads(services.said_to("/tavily/search")[0])["query"] == "treasure"
    assert "api_key" not in services.said_to("/tavily/search")[0]


def test_a_search_alone_opens_no_page(pod: EnginePod, services: ToolServicesDouble) -> None:
    start(pod, services, "search")
    assert "under the oak" in called(pod, "web_search", query="treasure")
    assert pod.model.turns()[-1].tools == {"web_search"}


def test_a_picture_is_made(pod: EnginePod, services: ToolServicesDouble) -> None:
    start(pod, services, "image_gen")
    called(pod, "image_generate", prompt="an oak")
    assert json.loads(services.said_to("/openai/v1/images/generations")[0])["prompt"] == "an oak"
    assert [path for path in pod.data.rglob("*.png") if path.read_bytes() == PICTURE]
    assert services.keys == {KEY}


def test_speech_is_made(pod: EnginePod, services: ToolServicesDouble) -> None:
    start(pod, services, "tts")
    called(pod, "text_to_speech", text="Ahoy")
    assert json.loads(services.said_to("/openai/v1/audio/speech")[0])["input"] == "Ahoy"
    assert [path for path in pod.data.rglob("*") if path.is_file() and path.read_bytes() == SOUND]


def test_a_voice_message_is_understood(pod: EnginePod, services: ToolServicesDouble) -> None:
    with TelegramDouble() as telegram:
        channels = {"channels": ["web", "telegram"], "channel_secrets": {"telegramToken": TOKEN}}
        start(pod, services, "stt", telegram_api_url=telegram.url, **channels)
        telegram.speak(SOUND)
        eventually(lambda: "pong" in [one.text for one in telegram.sent], within=60, what="the answer")
    assert "where is the treasure?" in str(pod.model.turns()[-1].body)
    assert SOUND.decode() in services.said_to("/openai/v1/audio/transcriptions")[0]


def test_a_refused_key_is_said_to_the_model_and_not_the_key(pod: EnginePod, services: ToolServicesDouble) -> None:
    start(pod, services, "search")
    wrong = dataclasses.replace(pod.spec.secrets, tool_keys={"tavily": "tk-wrong-key-0815"}, tool_urls=services.urls)
    pod.spec = dataclasses.replace(pod.spec, secrets=wrong)
    pod.change()
    heard = called(pod, "web_search", query="treasure")
    assert "Tavily search failed" in heard
    assert "tk-wrong" not in heard


def test_the_keys_are_neither_in_the_engines_environment_nor_its_files(
    pod: EnginePod, services: ToolServicesDouble
) -> None:
    start(pod, services, "web")
    called(pod, "web_search", query="treasure")
    seen = [str(process.environ()) for process in pod.engine_processes()]
    assert seen
    assert not any(KEY in text for text in seen)
    files = [path.read_bytes() for path in pod.data.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in content for content in files)
