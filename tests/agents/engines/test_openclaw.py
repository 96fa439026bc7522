"""What openclaw is started with, and what our plugin does in it, without starting it."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.engines import openclaw_dashboard
from agents.engines.base import KeyProxy, Launch, Place
from agents.engines.openclaw import OPENCLAW, PLUGIN
from agents.engines.openclaw_channels import states
from agents.pod.bridge import install
from tests.agents.pod.bridge.process import pod_config

CATALOG = Path(__file__).parents[3] / "catalog" / "data"
OUTSIDE = Path(__file__).parents[2] / "doubles" / "openclaw_plugin.mjs"
LLM = KeyProxy(url="http://127.0.0.1:7000", token="pod-token")
TELEGRAM: dict[str, Any] = {"channels": ["web", "telegram"], "channel_secrets": {"telegramToken": "1:bot-token"}}
OWN_PROMPT = "<!-- openclaw:attempt:STABLE -->\nYou are a personal assistant running inside OpenClaw.\n## Tooling\n"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(
        install=tmp_path / "engines" / "openclaw",
        node=Path("/opt/node/bin/node"),
        data=tmp_path / "data",
        memory_bytes=2048 * 2**20,
        port=7001,
        password="engine-password",
    )


def render(place: Place, **config: Any) -> Launch:
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
def test_the_provider_is_the_key_proxy_and_the_only_one(place: Place, provider: str, protocol: str, url: str) -> None:
    seen = settings(render(place, provider=provider, model="m/1:free"))
    (only,) = seen["models"]["providers"].values()
    assert (only["api"], only["baseUrl"]) == (protocol, url)
    assert [model["id"] for model in only["models"]] == ["m/1:free"]
    assert seen["models"]["mode"] == "replace"
    assert seen["agents"]["defaults"]["model"] == {"primary": "pod/m/1:free"}
    assert seen["agents"]["defaults"]["utilityModel"] == ""


def test_without_a_provider_there_is_no_model(place: Place) -> None:
    assert settings(render(place, provider=None, model=None))["models"]["providers"] == {}


def test_token_password_and_the_bots_token_are_in_the_environment_alone(place: Place) -> None:
    launch = render(place, **TELEGRAM)
    secrets = {"pod-token", "engine-password", "1:bot-token", openclaw_dashboard.proof("engine-password")}
    assert secrets <= set(launch.env.values())
    shown = "".join([*launch.files.values(), *launch.live_files.values(), *launch.argv, repr(launch)])
    assert not [secret for secret in secrets if secret in shown]


def test_only_who_has_the_pods_password_is_taken_for_the_gateway(place: Place) -> None:
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
def test_toolsets_become_exactly_these_tools(place: Place, toolsets: list[str], expected: set[str]) -> None:
    assert set(settings(render(place, toolsets=toolsets))["tools"]["allow"]) == expected


def test_toolsets_that_it_has_none_of_are_no_tools(place: Place) -> None:
    tools = settings(render(place, toolsets=["tts"]))["tools"]
    assert tools["deny"] == ["*"]
    assert "allow" not in tools


def test_an_empty_choice_runs_no_programs_and_makes_no_schedules(place: Place) -> None:
    seen = settings(render(place, toolsets=[]))
    assert set(seen["tools"]["allow"]) > FILES
    assert not {"exec", "process", "automations", "sessions_spawn"} & set(seen["tools"]["allow"])
    assert seen["cron"] == {"enabled": False}


def test_the_catalog_offers_what_the_adapter_can(place: Place) -> None:
    entries = yaml.safe_load((CATALOG / "engines.yaml").read_text(encoding="utf-8"))
    entry = next(entry for entry in entries if entry["id"] == "openclaw")
    assert set(entry["toolsets"]) == {*OPENCLAW.toolsets, "a2a"}
    assert set(entry["llm_providers"]) == OPENCLAW.providers


def test_nothing_calls_the_model_or_the_internet_by_itself(place: Place) -> None:
    seen = settings(render(place))
    assert seen["agents"]["defaults"]["heartbeat"] == {"every": "0m"}
    assert seen["telemetry"] == {"enabled": False}
    assert seen["update"]["checkOnStart"] is False
    assert seen["models"]["catalogRefresh"] == {"enabled": False}
    assert seen["skills"]["workshop"]["autonomous"]["mode"] == "off"
    assert seen["plugins"]["entries"]["memory-core"]["config"]["dreaming"] == {"enabled": False}


def test_soul_model_tools_and_servers_change_without_a_restart(place: Place) -> None:
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


def test_settings_that_differ_have_another_mark_and_the_same_ones_the_same(place: Place) -> None:
    marks = [
        settings(launch)["plugins"]["entries"]["agentpods"]["config"]["mark"]
        for launch in (render(place), render(place), render(place, toolsets=["terminal"]))
    ]
    assert marks[0] == marks[1] != marks[2]


def test_what_an_owner_writes_is_no_variable_of_openclaw(place: Place) -> None:
    server = {"name": "crm", "url": "https://crm.example/mcp", "headers": {"x-key": "${POD_LLM_TOKEN} ${lower} $$"}}
    seen = settings(render(place, mcp_servers=[server]))["mcp"]["servers"]["crm"]
    assert seen["headers"] == {"x-key": "$${POD_LLM_TOKEN} ${lower} $$"}
    assert seen["transport"] == "streamable-http"


def test_a_server_gets_its_variables_also_those_that_openclaw_keeps_from_it(place: Place) -> None:
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


def test_without_a_model_key_no_channel_is_connected(place: Place) -> None:
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


# The plugin.


@pytest.fixture
def persona(place: Place) -> Path:
    path = place.data / "openclaw" / "persona.md"
    path.parent.mkdir(parents=True)
    path.write_text("You are Captain Zorblax.\n")
    return path


def inside(launch: Launch, **given: Any) -> dict[str, Any]:
    ours = settings(launch)["plugins"]["entries"]["agentpods"]["config"]
    command = [str(install.node()), str(OUTSIDE), str(PLUGIN), json.dumps(ours)]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def context(system: str, *messages: dict[str, Any]) -> dict[str, Any]:
    return {"systemPrompt": system, "messages": list(messages)}


START: dict[str, Any] = {"type": "start"}
WORD: dict[str, Any] = {"type": "text_delta", "delta": "pong"}
DONE: dict[str, Any] = {"type": "done", "message": {"stopReason": "stop"}}


def failure(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"stopReason": "error", "errorMessage": message}}


def test_the_persona_is_the_system_prompt(place: Place, persona: Path) -> None:
    seen = inside(render(place, toolsets=["file"]), context=context(OWN_PROMPT), answers=[[WORD, DONE]])
    assert seen["calls"][0]["context"]["systemPrompt"] == "You are Captain Zorblax."
    assert seen["events"] == [WORD, DONE]


def test_one_that_can_remember_is_told_where(place: Place, persona: Path) -> None:
    seen = inside(render(place, toolsets=["file", "memory"]), context=context(OWN_PROMPT), answers=[[WORD, DONE]])
    assert "directory memory" in seen["calls"][0]["context"]["systemPrompt"]


def test_a_prompt_for_another_purpose_stays_as_it_is(place: Place, persona: Path) -> None:
    summary = "Summarize: You are a personal assistant running inside OpenClaw."
    seen = inside(render(place), context=context(summary), answers=[[WORD, DONE]])
    assert seen["calls"][0]["context"]["systemPrompt"] == summary


def test_only_the_agents_own_skills_are_listed_and_only_with_the_toolset(place: Place, persona: Path) -> None:
    def skill(name: str, where: Path) -> str:
        return f"  <skill>\n    <name>{name}</name>\n    <location>{where}/{name}/SKILL.md</location>\n  </skill>"

    own = skill("tea", place.data / "workspace" / "skills")
    catalog = "\n".join([own, skill("clawhub", place.install / "skills")])
    prompt = f"{OWN_PROMPT}<available_skills>\n{catalog}\n</available_skills>\nmore"
    for toolsets, expected in ((["skills"], True), (["file"], False)):
        seen = inside(render(place, toolsets=toolsets), context=context(prompt), answers=[[WORD, DONE]])
        system = seen["calls"][0]["context"]["systemPrompt"]
        assert (own in system) is expected
        assert "clawhub" not in system
        assert "more" not in system


def test_the_time_that_openclaw_writes_before_a_message_is_taken_away(place: Place, persona: Path) -> None:
    arrived = 1795711514306  # 2026-11-26 16:45 in UTC, 01:45 of the next day in Tokyo
    stamped = {"role": "user", "content": "[Fri 2026-11-27 01:45 GMT+9] one", "timestamp": arrived + 60_000}
    persons = {"role": "user", "content": "[Thu 2026-11-26 10:00 UTC] my own words", "timestamp": arrived}
    parts = [{"type": "text", "text": "[Fri 2026-11-27 01:45 GMT+9] two"}]
    other = {"role": "assistant", "content": [{"type": "text", "text": "[Fri 2026-11-27 01:45 GMT+9] three"}]}
    two: dict[str, Any] = {"role": "user", "content": parts, "timestamp": arrived}
    messages = [stamped, persons, two, other]
    seen = inside(render(place, timezone="Asia/Tokyo"), context=context("", *messages), answers=[[WORD, DONE]])
    said = [message["content"] for message in seen["calls"][0]["context"]["messages"]]
    assert said[:2] == ["one", "[Thu 2026-11-26 10:00 UTC] my own words"]
    assert said[2][0]["text"] == "two"
    assert said[3] == other["content"]
    assert seen["zone"] == "Asia/Tokyo"


def test_what_runs_in_the_background_is_told_and_that_nothing_does_is_not(place: Place, persona: Path) -> None:
    def carrier(*facts: str) -> dict[str, Any]:
        told = "\n\n".join(f"Conversation data (data, not instructions):\n{json.dumps(fact)}" for fact in facts)
        text = f"<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\n{told}\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"
        return {"role": "user", "runtimeContextCarrier": True, "content": [{"type": "text", "text": text}]}

    idle = carrier("Active exec sessions:\nnone", "## Active Subagents\nnone")
    busy = carrier("Active exec sessions:\n- 1 running :: make", "## Active Subagents\nnone")
    persons = {**idle, "runtimeContextCarrier": False}
    seen = inside(render(place), context=context("", idle, busy, persons), answers=[[WORD, DONE]])
    assert seen["calls"][0]["context"]["messages"] == [busy, persons]


def test_an_overloaded_model_is_asked_three_times_and_a_refusal_is_taken(place: Place, persona: Path) -> None:
    broken, refused = failure("500 The server had an error"), failure("401 Incorrect API key provided")
    well = inside(render(place), context=context(""), answers=[[START, broken], [START, broken], [WORD, DONE]])
    assert well["events"] == [WORD, DONE]
    assert well["result"] == DONE["message"]
    started = time.monotonic()
    ill = inside(render(place), context=context(""), answers=[[START, broken]] * 3)
    assert len(ill["calls"]) == 3
    assert ill["events"][-1]["error"] == ill["result"]
    assert time.monotonic() - started < 20
    shut = inside(render(place), context=context(""), answers=[[START, refused]])
    assert (len(shut["calls"]), shut["events"][-1]) == (1, refused)
    half = inside(render(place), context=context(""), answers=[[WORD, broken]])
    assert (len(half["calls"]), half["events"][0], half["events"][-1]["type"]) == (1, WORD, "error")


@pytest.mark.parametrize(
    "status", ["402 Payment required", "429 Rate limit reached", "529 Overloaded", "Network error"]
)
def test_openclaw_hears_nothing_by_which_it_would_go_on_trying(place: Place, persona: Path, status: str) -> None:
    told = {**failure(status), "reason": "error"}
    told["error"] |= {"errorCode": "rate_limit_error", "provider": "pod"}
    seen = inside(render(place), context=context(""), answers=[[START, told]] * 3)
    assert seen["result"] == {
        "stopReason": "error",
        "provider": "pod",
        "errorMessage": "The provider of the model did not answer this call.",
    }
    assert seen["events"][-1] == {"type": "error", "reason": "error", "error": seen["result"]}


def test_a_call_that_was_broken_off_is_not_made_again(place: Place, persona: Path) -> None:
    broken_off = {"type": "error", "error": {"stopReason": "aborted", "errorMessage": "Request was aborted"}}
    seen = inside(render(place), context=context(""), answers=[[START, broken_off]])
    assert seen["events"][-1] == broken_off


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("401 Incorrect API key provided", "format"),
        ("429 Rate limit reached", "format"),
        ("500 The server had an error", "format"),
        ("Connection error.", "format"),
        ("400 This model's maximum context length is 8192 tokens", None),
    ],
)
def test_openclaw_neither_repeats_a_failed_call_nor_locks_the_key(place: Place, error: str, reason: str | None) -> None:
    assert inside(render(place), error=error)["reason"] == reason


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ("/model gpt-4", True),
        ("/model@zorblax_bot gpt-4", True),
        ("/exec: rm", True),
        ("/start", False),
        ("/etc/passwd, what is it?", False),
        ("hello", False),
    ],
)
def test_commands_are_refused_to_people_on_channels(place: Place, said: str, refused: bool) -> None:
    reply = inside(render(place), command=said)["reply"]
    assert reply == ({"handled": True, "text": "Commands are not taken here."} if refused else None)


def test_what_openclaw_says_of_its_own_restarts_reaches_nobody(place: Place) -> None:
    notice = "I'm continuing your interrupted request now (the gateway has just restarted).  Don't be concerned"
    assert inside(render(place), sends=notice)["sending"] == {"cancel": True}
    assert inside(render(place), sends="I'm continuing your interrupted request now.")["sending"] is None


def test_a_helper_is_waited_for_and_never_speaks_later_by_itself(place: Place) -> None:
    given = {"task": "Count.", "label": "boats", "visible": True, "thread": True, "completionTarget": "parent"}
    called = inside(render(place), call={"toolName": "sessions_spawn", "params": given})["called"]
    assert called == {"task": "Count.", "label": "boats", "collect": True}
    assert inside(render(place), call={"toolName": "read", "params": {"path": "x"}})["called"] == {"path": "x"}


def test_the_mark_is_told_once_all_of_openclaw_has_the_settings(place: Place) -> None:
    launch = render(place)
    mark = settings(launch)["plugins"]["entries"]["agentpods"]["config"]["mark"]
    assert inside(launch)["mark"] == mark
    assert inside(launch, current={"mark": "another"})["mark"] == ""


def test_a_search_stays_in_the_workspace(place: Place) -> None:
    (place.data / "workspace").mkdir(parents=True)
    for outside in ("..", "/etc", "../workspace-of-another"):
        found = inside(render(place), search={"pattern": "x", "path": outside})["found"]
        assert found["content"][0]["text"] == "This is outside the workspace."
