"""The command, environment and settings for opencode, without starting it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.engines.base import EnginePlace, Launch, ProxyAccess
from agents.engines.opencode import OPENCODE
from tests.agents.pod.bridge.process import pod_config

CATALOG = Path(__file__).parents[3] / "catalog" / "data"
LLM = ProxyAccess(url="http://127.0.0.1:7000", token="pod-token")
SHELL = "bash"


@pytest.fixture
def place(tmp_path: Path) -> EnginePlace:
    return EnginePlace(
        install=tmp_path / "engines" / "opencode",
        node=Path("/opt/node/bin/node"),
        data=tmp_path / "data",
        memory_bytes=1024 * 2**20,
        port=7001,
        password="engine-password",
    )


def render(place: EnginePlace, **config: Any) -> Launch:
    return OPENCODE.render(pod_config(**config), place=place, llm=LLM)


def text(launch: Launch) -> str:
    return next(text for path, text in launch.files.items() if path.name == "opencode.json")


def settings(launch: Launch) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text(launch))
    return found


def allowed(launch: Launch) -> set[str]:
    permissions: dict[str, str] = settings(launch)["permission"]
    assert next(iter(permissions.items())) == ("*", "deny")
    return {name for name, verdict in permissions.items() if verdict == "allow"}


@pytest.mark.parametrize(
    ("provider", "name", "url"),
    [
        ("openai", "openai", "http://127.0.0.1:7000/llm/openai/v1"),
        ("anthropic", "anthropic", "http://127.0.0.1:7000/llm/anthropic/v1"),
        ("openrouter", "openrouter", "http://127.0.0.1:7000/llm/openrouter/api/v1"),
        ("google", "google", "http://127.0.0.1:7000/llm/google/v1beta"),
        ("gemini", "google", "http://127.0.0.1:7000/llm/gemini/v1beta"),
        ("groq", "groq", "http://127.0.0.1:7000/llm/groq/openai/v1"),
        ("mistral", "mistral", "http://127.0.0.1:7000/llm/mistral/v1"),
        ("deepseek", "deepseek", "http://127.0.0.1:7000/llm/deepseek/v1"),
        ("xai", "xai", "http://127.0.0.1:7000/llm/xai/v1"),
    ],
)
def test_the_provider_is_moved_to_the_key_proxy_and_the_only_one(
    place: EnginePlace, provider: str, name: str, url: str
) -> None:
    seen = settings(render(place, provider=provider, model="m/1:free"))
    assert seen["enabled_providers"] == [name]
    assert seen["provider"][name]["options"] == {"baseURL": url}
    assert seen["model"] == seen["small_model"] == f"{name}/m/1:free"
    assert list(seen["provider"][name]["models"]) == seen["provider"][name]["whitelist"] == ["m/1:free"]


def test_token_and_password_are_in_the_environment_alone(place: EnginePlace) -> None:
    launch = render(place)
    assert launch.env[settings(launch)["provider"]["openai"]["env"][0]] == "pod-token"
    assert launch.env["OPENCODE_SERVER_PASSWORD"] == "engine-password"
    shown = "".join(launch.files.values()) + "".join(launch.argv) + repr(launch)
    assert "pod-token" not in shown
    assert "engine-password" not in shown


def test_without_a_provider_there_is_no_model_and_no_free_one_either(place: EnginePlace) -> None:
    launch = render(place, provider=None, model=None)
    assert launch.model is None
    assert settings(launch)["enabled_providers"] == []
    assert "model" not in settings(launch)


FILES = {"read", "glob", "grep", "edit", "write", "apply_patch"}


@pytest.mark.parametrize(
    ("toolsets", "expected"),
    [
        ([], FILES | {"webfetch", "todowrite", "skill"}),
        (["file"], FILES),
        (["terminal"], {SHELL, "external_directory"}),
        (["web"], {"webfetch"}),
        (["todo", "skills"], {"todowrite", "skill"}),
        (["delegation"], {"task"}),
        (["tts"], set()),
    ],
)
def test_toolsets_become_exactly_these_permissions(place: EnginePlace, toolsets: list[str], expected: set[str]) -> None:
    assert allowed(render(place, toolsets=toolsets)) == expected


def test_those_it_delegates_to_have_no_more(place: EnginePlace) -> None:
    """Permissions are set for the whole engine. None of its agents has permissions of its own."""
    agents = settings(render(place, toolsets=["delegation"]))["agent"]
    assert not [name for name, agent in agents.items() if "permission" in agent or "tools" in agent]
    assert agents["build"] == agents["plan"] == {"disable": True}


def test_soul_additions_name_language_and_time_zone_are_read_while_it_runs(place: EnginePlace) -> None:
    launch = render(place, soul="Soul.", extra_soul="More.", name="Ada", lang="ru", timezone="Europe/Berlin")
    ((path, persona),) = launch.live_files.items()
    assert path.name == "AGENTS.md"
    assert persona.index("Soul.") < persona.index("More.") < persona.index("Ada")
    assert "по-русски" in persona
    assert launch.env["TZ"] == "Europe/Berlin"


def test_another_soul_needs_no_restart_and_another_model_does(place: EnginePlace) -> None:
    before = render(place)
    assert before.serves_as(render(place, soul="Another.", revision=2))
    assert before != render(place, soul="Another.")
    assert not before.serves_as(render(place, model="another"))
    assert not before.serves_as(render(place, toolsets=["web"]))


def test_mcp_servers_are_named_so_that_none_is_a_tool_of_its_own(place: EnginePlace) -> None:
    stdio = {"name": "apply", "command": "python3", "args": ["server.py"], "env": {"A": "b"}}
    http = {"name": "crm", "url": "https://crm.example/mcp", "headers": {"X-Key": "k"}}
    launch = render(place, mcp_servers=[stdio, http], toolsets=["web"])
    local, remote = settings(launch)["mcp"]["apply_"], settings(launch)["mcp"]["crm_"]
    assert (local["type"], local["command"], local["environment"]) == ("local", ["python3", "server.py"], {"A": "b"})
    assert (remote["type"], remote["url"], remote["headers"]) == ("remote", "https://crm.example/mcp", {"X-Key": "k"})
    assert remote["oauth"] is False
    assert allowed(launch) == {"webfetch", "apply__*", "crm__*"}


def test_an_agent_with_peers_gets_the_gateways_server_and_time_for_their_answers(place: EnginePlace) -> None:
    launch = render(place, has_peers=True, toolsets=["web"])
    server = settings(launch)["mcp"]["a2a_"]
    assert (server["url"], server["timeout"]) == ("http://127.0.0.1:7000/peers", 95_000)
    assert server["headers"] == {"Authorization": "Bearer pod-token"}
    assert allowed(launch) == {"webfetch", "a2a__*"}


def test_what_an_owner_wrote_is_no_variable_of_the_engines(place: EnginePlace) -> None:
    """Anywhere in its settings, opencode would replace such texts by its variables and by the contents of files."""
    written = {"A": "{env:POD_LLM_TOKEN} {file:/etc/passwd}"}
    launch = render(place, mcp_servers=[{"name": "x", "command": "run", "env": written}])
    assert "{env:" not in text(launch)
    assert "{file:" not in text(launch)
    assert settings(launch)["mcp"]["x_"]["environment"] == written


def test_it_asks_nobody_for_updates_packages_models_or_a_title(place: EnginePlace) -> None:
    launch = render(place)
    seen = settings(launch)
    assert (seen["autoupdate"], seen["share"], seen["snapshot"]) == (False, "disabled", False)
    for name in ("OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD"):
        assert launch.env[name] == "1"
    lock = json.loads(next(text for path, text in launch.files.items() if path.name == "package-lock.json"))
    assert "@opencode-ai/plugin" in lock["packages"][""]["dependencies"]
    assert any(path.name == "node_modules" for path in launch.directories)


def test_the_agents_own_files_configure_nothing(place: EnginePlace) -> None:
    launch = render(place)
    assert launch.env["OPENCODE_DISABLE_PROJECT_CONFIG"] == "1"
    assert launch.cwd not in {path.parent for path in (*launch.files, *launch.live_files)}


def test_its_garbage_collector_knows_the_tier(place: EnginePlace) -> None:
    assert render(place).env["BUN_JSC_forceRAMSize"] == str(256 * 2**20)


def test_it_listens_on_loopback_alone(place: EnginePlace) -> None:
    argv = render(place).argv
    assert argv[argv.index("--hostname") + 1] == "127.0.0.1"
    assert argv[argv.index("--port") + 1] == "7001"


def test_the_committed_lock_names_no_registry_and_holds_the_version() -> None:
    lock = json.loads(OPENCODE.package.lock.read_text(encoding="utf-8"))
    assert "http" not in OPENCODE.package.lock.read_text(encoding="utf-8")
    packages = {name.rpartition("node_modules/")[2]: entry for name, entry in lock["packages"].items()}
    assert packages["opencode-linux-x64-baseline"]["version"] == OPENCODE.package.version


def test_the_public_catalog_promises_what_the_engine_can() -> None:
    entries = yaml.safe_load((CATALOG / "engines.yaml").read_text(encoding="utf-8"))
    public = next(entry for entry in entries if entry["id"] == OPENCODE.id)
    assert set(public["toolsets"]) - {"a2a"} == set(OPENCODE.toolsets)
    assert set(public["llm_providers"]) == OPENCODE.providers
    assert public["mcp"]
    assert public["dash_credentials"]
    assert public["channels"] == ["web"]
