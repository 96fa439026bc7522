"""The command, environment and settings for pi, without starting it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.engines import ENGINES
from agents.engines.base import EnginePlace, Launch, ProxyAccess
from agents.engines.pi import PI
from tests.agents.pod.bridge.process import pod_config
from tests.doubles.pi import KNOWN_MODEL, install_double

CATALOG = Path(__file__).parents[3] / "catalog" / "data"
CRM = {"name": "crm", "url": "https://crm.example/mcp", "headers": {"X-Key": "secret-of-the-crm"}}
LLM = ProxyAccess(url="http://127.0.0.1:7000", token="pod-token")


@pytest.fixture
def place(tmp_path: Path) -> EnginePlace:
    cache = install_double(tmp_path / "engines")
    install = cache / f"pi-{PI.package.version}"
    return EnginePlace(
        install=install,
        node=Path("/opt/node/bin/node"),
        data=tmp_path / "data",
        memory_bytes=512 * 2**20,
        port=7001,
        password="engine-password",
    )


def render(place: EnginePlace, **config: Any) -> Launch:
    return PI.render(pod_config(**config), place=place, llm=LLM)


def file(launch: Launch, name: str) -> str:
    return next(text for path, text in launch.files.items() if path.name == name)


def models(launch: Launch) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file(launch, "models.json"))["providers"]
    return found


def tools(launch: Launch) -> set[str] | None:
    return set(launch.argv[launch.argv.index("--tools") + 1].split(",")) if "--tools" in launch.argv else None


@pytest.mark.parametrize(
    ("provider", "name", "url"),
    [
        ("openai", "openai", "http://127.0.0.1:7000/llm/openai/v1"),
        ("anthropic", "anthropic", "http://127.0.0.1:7000/llm/anthropic"),
        ("openrouter", "openrouter", "http://127.0.0.1:7000/llm/openrouter/api/v1"),
        ("google", "google", "http://127.0.0.1:7000/llm/google/v1beta"),
        ("gemini", "google", "http://127.0.0.1:7000/llm/gemini/v1beta"),
        ("groq", "groq", "http://127.0.0.1:7000/llm/groq/openai/v1"),
        ("mistral", "mistral", "http://127.0.0.1:7000/llm/mistral"),
        ("deepseek", "deepseek", "http://127.0.0.1:7000/llm/deepseek"),
        ("xai", "xai", "http://127.0.0.1:7000/llm/xai/v1"),
    ],
)
def test_the_provider_is_moved_to_the_key_proxy(place: EnginePlace, provider: str, name: str, url: str) -> None:
    moved = models(render(place, provider=provider))
    assert set(moved) == {name}
    assert moved[name]["baseUrl"] == url
    assert moved[name]["apiKey"] == "$POD_LLM_TOKEN"


def test_the_token_is_in_the_environment_alone(place: EnginePlace) -> None:
    launch = render(place)
    assert launch.env["POD_LLM_TOKEN"] == "pod-token"
    assert "pod-token" not in "".join(launch.files.values()) + "".join(launch.argv) + repr(launch)


def test_a_model_that_pi_knows_keeps_its_catalogue_data(place: EnginePlace) -> None:
    moved = models(render(place, model=KNOWN_MODEL))["openai"]
    assert "models" not in moved
    assert not any(moved["modelOverrides"][KNOWN_MODEL]["compat"].values())


def test_a_model_that_pi_does_not_know_is_declared(place: EnginePlace) -> None:
    launch = render(place, model="vendor/brand-new:free")
    assert models(launch)["openai"]["models"] == [{"id": "vendor/brand-new:free"}]
    assert launch.model == ("openai", "vendor/brand-new:free")
    assert json.loads(file(launch, "settings.json"))["defaultModel"] == "vendor/brand-new:free"


def test_without_a_provider_there_is_no_model(place: EnginePlace) -> None:
    launch = render(place, provider=None, model=None)
    assert launch.model is None
    assert models(launch) == {}
    assert "defaultModel" not in json.loads(file(launch, "settings.json"))


@pytest.mark.parametrize(
    ("toolsets", "expected"),
    [
        ([], {"read", "ls", "grep", "edit", "write"}),
        (["file"], {"read", "ls", "grep", "edit", "write"}),
        (["terminal"], {"bash"}),
        (["file", "terminal"], {"read", "ls", "grep", "edit", "write", "bash"}),
        (["skills"], {"read"}),
        (["web", "tts"], None),
    ],
)
def test_toolsets_become_exactly_these_tools(
    place: EnginePlace, toolsets: list[str], expected: set[str] | None
) -> None:
    launch = render(place, toolsets=toolsets)
    assert tools(launch) == expected
    assert ("--no-tools" in launch.argv) == (expected is None)


def test_with_mcp_servers_everything_but_the_chosen_tools_is_excluded(place: EnginePlace) -> None:
    launch = render(place, toolsets=["file"], mcp_servers=[CRM])
    assert "--tools" not in launch.argv
    assert launch.argv[launch.argv.index("--exclude-tools") + 1] == "bash,powershell,find"
    assert json.loads(file(launch, "settings.json"))["defaultTools"] == ["read", "ls", "grep", "edit", "write"]
    assert str(place.data / "pi" / "pi_mcp.ts") in launch.argv


def test_an_agent_with_peers_gets_the_gateways_server_beside_its_own(place: EnginePlace) -> None:
    launch = render(place, mcp_servers=[CRM], has_peers=True)
    headers = {"Authorization": "Bearer pod-token"}
    peers = {"name": "a2a", "url": "http://127.0.0.1:7000/peers", "headers": headers}
    assert json.loads(file(launch, "mcp.json")) == {"servers": [CRM, peers]}
    alone = render(place, has_peers=True)
    assert str(place.data / "pi" / "pi_mcp.ts") in alone.argv
    assert "pod-token" not in " ".join(alone.argv)


def test_headers_of_mcp_servers_are_in_a_file_of_the_owners_alone(place: EnginePlace) -> None:
    launch = render(place, mcp_servers=[CRM])
    assert json.loads(file(launch, "mcp.json")) == {"servers": [CRM]}
    assert "secret-of-the-crm" not in "".join([*launch.argv, *launch.env.values()]) + repr(launch)


def test_skills_are_announced_only_when_chosen(place: EnginePlace) -> None:
    assert "--no-skills" in render(place, toolsets=["file"]).argv
    assert "--no-skills" not in render(place, toolsets=["file", "skills"]).argv


def test_soul_additions_name_language_and_time_zone_are_one_text(place: EnginePlace) -> None:
    text = file(
        render(place, soul="Soul.", extra_soul="More.", name="Ada", lang="ru", timezone="Europe/Berlin"),
        "SYSTEM.md",
    )
    assert text.index("Soul.") < text.index("More.") < text.index("Ada")
    assert "по-русски" in text
    assert "Europe/Berlin" in text


def test_the_clock_of_its_tools_is_the_owners(place: EnginePlace) -> None:
    assert render(place, timezone="Asia/Tokyo").env["TZ"] == "Asia/Tokyo"
    assert render(place, timezone=None).env["TZ"] == "UTC"


@pytest.mark.parametrize(
    ("session", "given"),
    [("abc", "abc"), ("A-1_b", "A-1_b"), ("-a", "x.-a.x"), ("a_", "x.a_.x"), ("-", "x.-.x"), ("x-a-x", "x-a-x")],
)
def test_session_ids_that_pi_would_refuse_are_framed(place: EnginePlace, session: str, given: str) -> None:
    assert PI.session_argv(session, render(place)) == ("--session-id", given)


def test_the_heap_follows_the_tier(place: EnginePlace) -> None:
    assert "--max-old-space-size=256" in render(place).argv


def test_equal_configurations_need_no_restart_between_them(place: EnginePlace) -> None:
    assert render(place, revision=1) == render(place, revision=2, a2a_enabled=True)
    assert render(place) != render(place, soul="Another.")


def test_every_engine_is_filed_under_its_own_name() -> None:
    assert all(engine.id == name for name, engine in ENGINES.items())


def test_the_public_catalog_promises_what_the_engine_can() -> None:
    public = {entry["id"]: entry for entry in yaml.safe_load((CATALOG / "engines.yaml").read_text(encoding="utf-8"))}[
        "pi"
    ]
    assert set(public["toolsets"]) - {"a2a"} == set(PI.toolsets)
    assert set(public["llm_providers"]) == PI.providers
