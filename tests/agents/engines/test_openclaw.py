"""The command, environment and settings for openclaw, without starting it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.engines import openclaw_dashboard
from agents.engines.base import EnginePlace, Launch, ProxyAccess
from agents.engines.openclaw import OPENCLAW
from agents.engines.openclaw_channels import states
from tests.agents.pod.bridge.process import pod_config

CATALOG = Path(__file__).parents[3] / "catalog" / "data"
LLM = ProxyAccess(url="http://127.0.0.1:7000", token="pod-token")
TELEGRAM: dict[str, Any] = {"channels": ["web", "telegram"], "channel_secrets": {"telegramToken": "1:bot-token"}}


@pytest.fixture
def place(tmp_path: Path) -> EnginePlace:
    return EnginePlace(
        install=tmp_path / "engines" / "openclaw",
        node=Path("/opt/node/bin/node"),
        data=tmp_path / "data",
        memory_bytes=2048 * 2**20,
        port=7001,
        password="engine-password",
    )


def render(place: EnginePlace, **config: Any) -> Launch:
    return OPENCLAW.render(pod_config(**config), place=place, llm=LLM)


def text(launch: Launch, name: str = "openclaw.json") -> str:
    return next(text for path, text in {**launch.files, **launch.live_files}.items() if path.name == name)


def settings(launch: Launch) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text(launch))
    return found


@pytest.mark.parametrize(
    ("provider", "protocol", "url"),
    [
        ("openai", "openai-responses", "http://127.0.0.1:7000/llm/openai/v1"),
        ("anthropic", "anthropic-messages", "http://127.0.0.1:7000/llm/anthropic"),
        ("openrouter", "openai-completions", "http://127.0.0.1:7000/llm/openrouter/api/v1"),
        ("google", "google-generative-ai", "http://127.0.0.1:7000/llm/google/v1beta"),
        ("gemini", "google-generative-ai", "http://127.0.0.1:7000/llm/gemini/v1beta"),
        ("groq", "openai-completions", "http://127.0.0.1:7000/llm/groq/openai/v1"),
        ("mistral", "openai-completions", "http://127.0.0.1:7000/llm/mistral/v1"),
        ("deepseek", "openai-completions", "http://127.0.0.1:7000/llm/deepseek"),
        ("xai", "openai-completions", "http://127.0.0.1:7000/llm/xai/v1"),
    ],
)
def test_the_provider_is_the_key_proxy_and_the_only_one(
    place: EnginePlace, provider: str, protocol: str, url: str
) -> None:
    seen = settings(render(place, provider=provider, model="m/1:free"))
    (only,) = seen["models"]["providers"].values()
    assert (only["api"], only["baseUrl"]) == (protocol, url)
    assert [model["id"] for model in only["models"]] == ["m/1:free"]
    assert seen["models"]["mode"] == "replace"
    assert seen["agents"]["defaults"]["model"] == {"primary": "pod/m/1:free"}
    assert seen["agents"]["defaults"]["utilityModel"] == ""


def test_without_a_provider_there_is_no_model(place: EnginePlace) -> None:
    assert settings(render(place, provider=None, model=None))["models"]["providers"] == {}


def test_token_password_and_the_bots_token_are_in_the_environment_alone(place: EnginePlace) -> None:
    launch = render(place, **TELEGRAM)
    secrets = {"pod-token", "engine-password", "1:bot-token", openclaw_dashboard.proof("engine-password")}
    assert secrets <= set(launch.env.values())
    shown = "".join([*launch.files.values(), *launch.live_files.values(), *launch.argv, repr(launch)])
    assert not [secret for secret in secrets if secret in shown]


def test_only_who_has_the_pods_password_is_taken_for_the_gateway(place: EnginePlace) -> None:
    launch = render(place)
    auth = settings(launch)["gateway"]["auth"]
    given = {name.lower() for name in openclaw_dashboard.DASHBOARD.headers(place.password)}
    (name,) = auth["trustedProxy"]["requiredHeaders"]
    required = name.replace("${POD_DASHBOARD_PROOF}", launch.env["POD_DASHBOARD_PROOF"])
    assert {required, auth["trustedProxy"]["userHeader"]} <= given
    assert required not in {name.lower() for name in openclaw_dashboard.DASHBOARD.headers("another")}
    assert "operator.admin" not in auth["trustedProxy"]["deviceAutoApprove"]["scopes"]
    assert settings(launch)["gateway"]["terminal"] == {"enabled": False}


FILES = {"read", "ls", "grep", "edit", "write"}


@pytest.mark.parametrize(
    ("toolsets", "expected"),
    [
        (["file"], FILES),
        (["terminal"], {"exec", "process"}),
        (["web"], {"web_fetch"}),
        (["skills"], {"read"}),
        (["cronjob"], {"automations"}),
    ],
)
def test_toolsets_become_exactly_these_tools(place: EnginePlace, toolsets: list[str], expected: set[str]) -> None:
    assert set(settings(render(place, toolsets=toolsets))["tools"]["allow"]) == expected


def test_toolsets_that_it_has_none_of_are_no_tools(place: EnginePlace) -> None:
    tools = settings(render(place, toolsets=["tts"]))["tools"]
    assert tools["deny"] == ["*"]
    assert "allow" not in tools


def test_an_empty_choice_runs_no_programs_and_makes_no_schedules(place: EnginePlace) -> None:
    seen = settings(render(place, toolsets=[]))
    assert set(seen["tools"]["allow"]) > FILES
    assert not {"exec", "process", "automations", "sessions_spawn"} & set(seen["tools"]["allow"])
    assert seen["cron"] == {"enabled": False}


def test_the_catalog_offers_what_the_adapter_can(place: EnginePlace) -> None:
    entries = yaml.safe_load((CATALOG / "engines.yaml").read_text(encoding="utf-8"))
    entry = next(entry for entry in entries if entry["id"] == "openclaw")
    assert set(entry["toolsets"]) == {*OPENCLAW.toolsets, "a2a"}
    assert set(entry["llm_providers"]) == OPENCLAW.providers


def test_nothing_calls_the_model_or_the_internet_by_itself(place: EnginePlace) -> None:
    seen = settings(render(place))
    assert seen["agents"]["defaults"]["heartbeat"] == {"every": "0m"}
    assert seen["telemetry"] == {"enabled": False}
    assert seen["update"]["checkOnStart"] is False
    assert seen["models"]["catalogRefresh"] == {"enabled": False}
    assert seen["skills"]["workshop"]["autonomous"]["mode"] == "off"
    assert seen["plugins"]["entries"]["memory-core"]["config"]["dreaming"] == {"enabled": False}


def test_soul_model_tools_and_servers_change_without_a_restart(place: EnginePlace) -> None:
    first = render(place)
    later = render(
        place,
        soul="Another.",
        timezone="Asia/Tokyo",
        provider="anthropic",
        model="claude-opus-5-5",
        toolsets=["terminal"],
        mcp_servers=[{"name": "crm", "url": "https://crm.example/mcp"}],
    )
    assert first != later
    assert first.serves_as(later)
    assert not first.serves_as(render(place, **TELEGRAM))


def test_settings_that_differ_have_another_mark_and_the_same_ones_the_same(place: EnginePlace) -> None:
    marks = [
        settings(launch)["plugins"]["entries"]["agentpods"]["config"]["mark"]
        for launch in (render(place), render(place), render(place, toolsets=["terminal"]))
    ]
    assert marks[0] == marks[1] != marks[2]


def test_what_an_owner_writes_is_no_variable_of_openclaw(place: EnginePlace) -> None:
    server = {"name": "crm", "url": "https://crm.example/mcp", "headers": {"x-key": "${POD_LLM_TOKEN} ${lower} $$"}}
    seen = settings(render(place, mcp_servers=[server]))["mcp"]["servers"]["crm"]
    assert seen["headers"] == {"x-key": "$${POD_LLM_TOKEN} ${lower} $$"}
    assert seen["transport"] == "streamable-http"


def test_a_server_gets_its_variables_also_those_that_openclaw_keeps_from_it(place: EnginePlace) -> None:
    env = {"PYTHONPATH": "/x y", "TOKEN": "a\"$b`'", "not a name": "1"}
    given = {"name": "files", "command": "/usr/bin/env", "args": ["-0"], "env": env}
    seen = settings(render(place, mcp_servers=[given]))["mcp"]["servers"]["files"]
    assert not {"PYTHONPATH", "TOKEN"} & set(seen["env"])
    assert not [word for word in seen["args"] if env["TOKEN"] in word or env["PYTHONPATH"] in word]
    done = subprocess.run([seen["command"], *seen["args"]], env=seen["env"], capture_output=True, text=True, check=True)
    shown = dict(line.split("=", 1) for line in done.stdout.split("\0") if line)
    assert {name: shown[name] for name in ("PYTHONPATH", "TOKEN")} == {
        name: env[name] for name in ("PYTHONPATH", "TOKEN")
    }
    assert not [name for name in shown if name.startswith("POD_")]


def test_without_a_model_key_no_channel_is_connected(place: EnginePlace) -> None:
    launch = render(place, has_key=False, **TELEGRAM)
    assert settings(launch)["channels"] == {}
    assert "1:bot-token" not in launch.env.values()
    assert settings(render(place, **TELEGRAM))["channels"]["telegram"]["enabled"] is True


def test_a_channel_says_why_it_is_not_connected() -> None:
    def report(**account: Any) -> dict[str, Any]:
        return {"channelAccounts": {"telegram": [account]}}

    waits = {"discord": "not connected: channels wait for the model key"}
    assert states(report(connected=True, lastError=None)) == {"telegram": None, **waits}
    refused = {"telegram": "the service refuses the bot's token", **waits}
    assert states(report(connected=False, lastError="401: Unauthorized")) == refused
    assert states(report(running=True)) == {"telegram": "connecting", **waits}
    assert "model key" in str(states({})["telegram"])
