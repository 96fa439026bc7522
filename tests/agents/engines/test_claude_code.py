"""The command, environment and settings for claude-code, without starting it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import yaml

from agents.engines.base import EnginePlace, Launch, ProxyAccess
from agents.engines.claude_code import CLAUDE_CODE
from tests.agents.pod.bridge.process import pod_config

CATALOG = Path(__file__).parents[3] / "catalog" / "data"
CRM = {"name": "crm", "url": "https://crm.example/mcp", "headers": {"X-Key": "secret-of-the-crm"}}
LLM = ProxyAccess(url="http://127.0.0.1:7000", token="pod-token")
FILES = {"Read", "Glob", "Grep", "Edit", "Write"}


@pytest.fixture
def place(tmp_path: Path) -> EnginePlace:
    return EnginePlace(
        install=tmp_path / "engines" / "claude-code",
        node=Path("/opt/node/bin/node"),
        data=tmp_path / "data",
        memory_bytes=1024 * 2**20,
        port=7001,
        password="engine-password",
    )


def render(place: EnginePlace, **config: Any) -> Launch:
    usual = {"provider": "anthropic", "model": "claude-sonnet-4-5"}
    return CLAUDE_CODE.render(pod_config(**{**usual, **config}), place=place, llm=LLM)


def option(launch: Launch, name: str) -> str:
    return launch.argv[launch.argv.index(name) + 1]


def tools(launch: Launch) -> set[str]:
    return {tool for tool in option(launch, "--tools").split(",") if tool}


def settings(launch: Launch) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(option(launch, "--settings"))
    return found


def file(launch: Launch, name: str) -> str:
    return next(text for path, text in launch.files.items() if path.name == name)


def transcript(place: EnginePlace, name: str, *types: str) -> Path:
    path = place.data / "claude" / "projects" / "-data-workspace" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"type": kind}, separators=(",", ":")) + "\n" for kind in types))
    return path


def test_the_provider_is_moved_to_the_key_proxy_and_no_other_model_is_asked(place: EnginePlace) -> None:
    launch = render(place, model="claude-haiku-4-5")
    assert launch.env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:7000/llm/anthropic"
    assert launch.model == ("anthropic", "claude-haiku-4-5")
    assert option(launch, "--model") == "claude-haiku-4-5"
    named = {value for name, value in launch.env.items() if name.endswith("_MODEL") and "DISABLE" not in name}
    assert named == {"claude-haiku-4-5"}


@pytest.mark.parametrize("provider", [None, "openai"])
def test_without_its_provider_it_has_no_model(place: EnginePlace, provider: str | None) -> None:
    launch = render(place, provider=provider, model=None if provider is None else "gpt-5")
    assert launch.model is None
    assert "--model" not in launch.argv
    assert "gpt-5" not in launch.env.values()


def test_the_token_is_in_the_environment_alone(place: EnginePlace) -> None:
    launch = render(place)
    assert launch.env["ANTHROPIC_AUTH_TOKEN"] == "pod-token"
    assert "pod-token" not in "".join(launch.files.values()) + "".join(launch.argv) + repr(launch)


@pytest.mark.parametrize(
    ("toolsets", "expected"),
    [
        ([], {"WebFetch", "WebSearch", *FILES, "TodoWrite", "Skill"}),
        (["web"], {"WebFetch", "WebSearch"}),
        (["search"], {"WebSearch"}),
        (["file"], FILES),
        (["terminal"], {"Bash"}),
        (["vision"], {"Read"}),
        (["memory"], {"Read", "Edit", "Write"}),
        (["todo", "skills"], {"TodoWrite", "Skill"}),
        (["delegation"], {"Agent"}),
        (["tts"], set()),
    ],
)
def test_toolsets_become_exactly_these_tools(place: EnginePlace, toolsets: list[str], expected: set[str]) -> None:
    assert tools(render(place, toolsets=toolsets)) == expected


def test_only_the_vendor_searches(place: EnginePlace) -> None:
    assert tools(render(place, toolsets=["web", "search"], own_model_server=True)) == {"WebFetch"}


def test_what_is_chosen_runs_unasked_and_nothing_asks(place: EnginePlace) -> None:
    launch = render(place, toolsets=["web", "terminal"], mcp_servers=[CRM])
    assert option(launch, "--permission-mode") == "dontAsk"
    assert settings(launch)["permissions"] == {"allow": ["WebFetch", "WebSearch", "Bash", "mcp__crm"]}


def test_files_are_the_workspace_unless_there_is_a_shell(place: EnginePlace) -> None:
    allowed = settings(render(place, toolsets=["file"]))["permissions"]["allow"]
    workspace = place.data / "workspace"
    assert allowed == [f"Read(/{workspace}/**)", f"Edit(/{workspace}/**)"]
    assert set(settings(render(place, toolsets=["file", "terminal"]))["permissions"]["allow"]) > FILES


def test_memory_and_skills_are_written_where_they_are_kept(place: EnginePlace) -> None:
    allowed = settings(render(place, toolsets=["file", "memory", "skills"]))["permissions"]["allow"]
    for store in ("memory", "skills"):
        assert f"Edit(/{place.data / 'claude' / store}/**)" in allowed
    only = settings(render(place, toolsets=["memory"]))["permissions"]["allow"]
    assert only == [f"{verb}(/{place.data / 'claude' / 'memory'}/**)" for verb in ("Read", "Edit")]


def test_commands_in_a_skill_run_only_where_there_is_a_shell(place: EnginePlace) -> None:
    assert settings(render(place, toolsets=["skills"]))["disableSkillShellExecution"]
    assert not settings(render(place, toolsets=["skills", "terminal"]))["disableSkillShellExecution"]


def test_nothing_that_the_agent_writes_configures_it(place: EnginePlace) -> None:
    launch = render(place)
    assert "--strict-mcp-config" in launch.argv
    assert option(launch, "--setting-sources") == "user"
    assert settings(launch)["disableAllHooks"]


def test_conversations_are_kept(place: EnginePlace) -> None:
    assert settings(render(place))["cleanupPeriodDays"] > 10_000


def test_it_has_a_memory_only_where_that_is_chosen(place: EnginePlace) -> None:
    launch = render(place, toolsets=["memory"])
    memory = place.data / "claude" / "memory"
    assert launch.env["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] == "0"
    assert settings(launch)["autoMemoryDirectory"] == str(memory)
    assert str(memory) in file(launch, "soul.md")
    without = render(place, toolsets=["file"])
    assert without.env["CLAUDE_CODE_DISABLE_AUTO_MEMORY"] == "1"
    assert str(memory) not in file(without, "soul.md")


def test_soul_additions_name_language_and_time_zone_are_one_text(place: EnginePlace) -> None:
    launch = render(place, soul="Soul.", extra_soul="More.", name="Ada", lang="ru", timezone="Europe/Berlin")
    text = file(launch, "soul.md")
    assert text.index("Soul.") < text.index("More.") < text.index("Ada")
    assert "по-русски" in text
    assert launch.env["TZ"] == "Europe/Berlin"
    assert option(launch, "--system-prompt-file") == str(place.data / "claude" / "soul.md")
    assert option(launch, "--system-prompt-snapshot") == "off"


def test_mcp_servers_and_their_headers_are_in_a_file_alone(place: EnginePlace) -> None:
    stdio = {"name": "files", "command": "python3", "args": ["server.py"], "env": {"A": "b"}}
    launch = render(place, mcp_servers=[CRM, stdio], has_peers=True)
    assert json.loads(file(launch, "mcp.json"))["mcpServers"] == {
        "crm": {"type": "http", "url": "https://crm.example/mcp", "headers": {"X-Key": "secret-of-the-crm"}},
        "files": {"command": "python3", "args": ["server.py"], "env": {"A": "b"}},
        "a2a": {
            "type": "http",
            "url": "http://127.0.0.1:7000/peers",
            "headers": {"Authorization": "Bearer pod-token"},
        },
    }
    assert "secret-of-the-crm" not in "".join([*launch.argv, *launch.env.values()]) + repr(launch)


def test_it_asks_nobody_for_updates_and_reports_to_nobody(place: EnginePlace) -> None:
    env = render(place).env
    for name in (
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_AUTOUPDATER",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_TELEMETRY",
    ):
        assert env[name] == "1"
    assert settings(render(place))["skipWebFetchPreflight"]


def test_a_new_conversation_gets_a_name_and_goes_on_under_it(place: EnginePlace) -> None:
    launch = render(place)
    flag, name = CLAUDE_CODE.session_argv("talk", launch)
    assert flag == "--session-id"
    assert str(UUID(name)) == name
    assert CLAUDE_CODE.session_argv("talk", launch) == (flag, name)
    assert CLAUDE_CODE.session_argv("other", launch)[1] != name
    path = transcript(place, name, "queue-operation", "user", "assistant")
    assert CLAUDE_CODE.session_argv("talk", launch) == ("--resume", str(path))


def test_a_conversation_that_never_began_is_begun_under_another_name(place: EnginePlace) -> None:
    """The engine was killed before it wrote the first message. It can neither resume nor repeat this conversation."""
    launch = render(place)
    _, name = CLAUDE_CODE.session_argv("talk", launch)
    transcript(place, name, "queue-operation")
    flag, second = CLAUDE_CODE.session_argv("talk", launch)
    assert (flag, second == name) == ("--session-id", False)
    path = transcript(place, second, "user")
    assert CLAUDE_CODE.session_argv("talk", launch) == ("--resume", str(path))


def test_the_process_that_only_shows_that_it_works_keeps_no_conversation(place: EnginePlace) -> None:
    assert CLAUDE_CODE.session_argv(None, render(place)) == ("--no-session-persistence",)


def test_equal_configurations_need_no_restart_between_them(place: EnginePlace) -> None:
    assert render(place, revision=1) == render(place, revision=2, a2a_enabled=True)
    assert render(place) != render(place, soul="Another.")


def test_the_public_catalog_promises_what_the_engine_can() -> None:
    engines = yaml.safe_load((CATALOG / "engines.yaml").read_text(encoding="utf-8"))
    public = next(entry for entry in engines if entry["id"] == "claude-code")
    assert set(public["toolsets"]) - {"a2a"} == set(CLAUDE_CODE.toolsets)
    assert set(public["llm_providers"]) == CLAUDE_CODE.providers
    toolsets = yaml.safe_load((CATALOG / "toolsets.yaml").read_text(encoding="utf-8"))
    usual = {entry["id"] for entry in toolsets if entry.get("default_enabled")}
    assert set(CLAUDE_CODE.safe_toolsets) == usual & set(public["toolsets"])
