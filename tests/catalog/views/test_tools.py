"""The endpoint GET /tools."""

from __future__ import annotations

import pytest
from rest_framework.test import APIClient

from catalog import engines, tools

pytestmark = pytest.mark.usefixtures("catalog")

FIELDS = {"id", "name", "description", "defaultEnabled", "group", "engines", "keyNeededOn"}
GROUPS = {"web", "files", "media", "voice", "thinking", "integrations", "network"}


def test_a_toolset_has_the_fields_of_the_spec_and_its_engines(api: APIClient) -> None:
    body = api.get("/tools").json()
    assert set(body) == {"tools"}
    plugins = {tool["id"]: tool.pop("plugin") for tool in body["tools"] if "plugin" in tool}
    assert plugins == {"a2a": "a2a-platform"}
    services = {tool["id"]: tool.pop("service") for tool in body["tools"] if "service" in tool}
    assert services == {"web": "tavily", "search": "tavily"} | dict.fromkeys(("image_gen", "tts", "stt"), "openai")
    assert all(set(tool) == FIELDS and tool["group"] in GROUPS for tool in body["tools"])


def test_the_toolsets_that_one_engine_supports(api: APIClient) -> None:
    everything = [tool["id"] for tool in api.get("/tools").json()["tools"]]
    hermes = [tool["id"] for tool in api.get("/tools?engine=hermes").json()["tools"]]
    assert {"file", "terminal", "memory", "cronjob", "a2a"} < set(hermes) < set(everything)
    assert [tool["id"] for tool in api.get("/tools?engine=pi").json()["tools"]] == ["file", "terminal", "skills", "a2a"]
    assert [tool["id"] for tool in api.get("/tools?engine=n8n").json()["tools"]] == ["web", "a2a"]


def test_a_toolset_is_offered_with_the_engines_that_take_it(api: APIClient) -> None:
    listed = {tool["id"]: tool["engines"] for tool in api.get("/tools").json()["tools"]}
    for engine in ("pi", "hermes", "opencode", "claude-code", "openclaw", "n8n"):
        taken = [tool["id"] for tool in api.get(f"/tools?engine={engine}").json()["tools"]]
        assert [name for name, engines in listed.items() if engine in engines] == taken
    assert all(listed.values())
    assert listed["file"] == ["pi", "hermes", "opencode", "claude-code", "openclaw"]
    assert listed["vision"] == ["claude-code"]
    assert listed["tts"] == ["hermes"]


def test_a_toolset_names_the_engines_that_need_a_key_for_it(api: APIClient) -> None:
    needed = {tool["id"]: tuple(tool["keyNeededOn"]) for tool in api.get("/tools").json()["tools"]}
    expected = dict.fromkeys(("web", "search", "image_gen", "tts", "stt"), ("hermes",))
    assert {name: engines for name, engines in needed.items() if engines} == expected


def test_what_needs_a_key_is_on_nowhere_by_itself(api: APIClient) -> None:
    on = {tool["id"]: tool["defaultEnabled"] for tool in api.get("/tools?engine=hermes").json()["tools"]}
    assert (on["web"], on["file"]) == (False, True)
    assert {tool["id"]: tool["defaultEnabled"] for tool in api.get("/tools?engine=opencode").json()["tools"]}["web"]


def test_default_is_what_an_empty_choice_switches_on(api: APIClient) -> None:
    asked = {"/tools": "pi"} | {
        f"/tools?engine={engine}": engine for engine in ("pi", "hermes", "opencode", "claude-code", "openclaw", "n8n")
    }
    for path, engine in asked.items():
        on = [tool["id"] for tool in api.get(path).json()["tools"] if tool["defaultEnabled"]]
        assert on == tools.effective([], engines.known_engine(engine))


def test_an_unknown_engine_is_named(api: APIClient) -> None:
    answer = api.get("/tools?engine=")
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("engine: '' is not an engine; allowed: pi, ")
