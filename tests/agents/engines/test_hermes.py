"""The command, environment and settings for hermes, without starting it."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml

from agents.engines import hermes_start as start
from agents.engines.base import EnginePlace, Launch, ProxyAccess
from agents.engines.hermes import HERMES, RECIPE
from agents.engines.hermes_channels import states
from agents.engines.hermes_dashboard import DASHBOARD
from tests.agents.pod.bridge.process import pod_config

CATALOG = Path(__file__).parents[3] / "catalog" / "data"
LLM = ProxyAccess(url="http://127.0.0.1:7000", token="pod-token-4711")
SECRETS = {
    "telegramToken": "telegram-secret",
    "discordToken": "discord-secret",
    "whatsappPhoneNumberId": "100200300",
    "whatsappAccessToken": "whatsapp-secret",
    "emailAddress": "agent@example.org",
    "emailPassword": "email-secret",
    "emailSmtpHost": "smtp.example.org",
    "emailImapHost": "imap.example.org",
}


@pytest.fixture
def place(tmp_path: Path) -> EnginePlace:
    return EnginePlace(
        install=tmp_path / "engines" / "hermes-0.19.0",
        node=Path("/opt/node/bin/node"),
        data=tmp_path / "data",
        memory_bytes=2**30,
        port=7001,
        side_port=7002,
        password="engine-password-of-the-pod",
    )


def render(place: EnginePlace, **config: Any) -> Launch:
    return HERMES.render(pod_config(**config), place=place, llm=LLM)


def settings(launch: Launch) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(text(launch, "config.yaml"))
    return found


def text(launch: Launch, name: str) -> str:
    return next(text for path, text in launch.files.items() if path.name == name)


@pytest.mark.parametrize(
    ("provider", "url", "protocol"),
    [
        ("openai", "http://127.0.0.1:7000/llm/openai/v1", "chat_completions"),
        ("anthropic", "http://127.0.0.1:7000/llm/anthropic", "anthropic_messages"),
        ("openrouter", "http://127.0.0.1:7000/llm/openrouter/api/v1", "chat_completions"),
        ("google", "http://127.0.0.1:7000/llm/google/v1beta/openai", "chat_completions"),
        ("gemini", "http://127.0.0.1:7000/llm/gemini/v1beta/openai", "chat_completions"),
        ("groq", "http://127.0.0.1:7000/llm/groq/openai/v1", "chat_completions"),
        ("mistral", "http://127.0.0.1:7000/llm/mistral/v1", "chat_completions"),
        ("deepseek", "http://127.0.0.1:7000/llm/deepseek", "chat_completions"),
        ("xai", "http://127.0.0.1:7000/llm/xai/v1", "chat_completions"),
    ],
)
def test_the_provider_is_moved_to_the_key_proxy(place: EnginePlace, provider: str, url: str, protocol: str) -> None:
    rendered = settings(render(place, provider=provider, model="a-model"))
    assert rendered["providers"] == {"pod": {"base_url": url, "key_env": "POD_LLM_TOKEN", "api_mode": protocol}}
    assert rendered["model"]["provider"] == "pod"
    assert rendered["model"]["default"] == "a-model"


def test_without_a_provider_there_is_no_model(place: EnginePlace) -> None:
    launch = render(place, provider=None, model=None)
    assert launch.model is None
    assert not {"model", "providers"} & settings(launch).keys()


def test_tokens_and_secrets_are_in_the_environment_alone(place: EnginePlace) -> None:
    launch = render(place, channels=["web", "telegram", "email"], channel_secrets=SECRETS)
    shown = "".join(launch.files.values()) + "".join(launch.argv) + repr(launch)
    for secret in (LLM.token, place.password, SECRETS["telegramToken"], SECRETS["emailPassword"]):
        assert secret in launch.env.values()
        assert secret not in shown


def test_nothing_looks_at_the_internet_or_asks_the_model_by_itself(place: EnginePlace) -> None:
    rendered = settings(render(place))
    assert rendered["security"]["tirith_enabled"] is False
    assert rendered["security"]["allow_lazy_installs"] is False
    assert rendered["model"]["context_length"] > 0
    assert rendered["model_catalog"]["enabled"] is False
    assert rendered["auxiliary"]["title_generation"]["enabled"] is False


@pytest.mark.parametrize("chosen", [["file"], ["file", "terminal"], ["tts"]])
def test_every_platform_gets_the_chosen_toolsets_and_no_others(place: EnginePlace, chosen: list[str]) -> None:
    everywhere = {"channels": ["web", "telegram", "discord", "whatsapp", "email"], "channel_secrets": SECRETS}
    given = settings(render(place, toolsets=chosen, **everywhere))["platform_toolsets"]
    assert set(given) == {"api_server", "cron", "telegram", "discord", "whatsapp_cloud", "email"}
    assert all(toolsets == [name for name in chosen if name in HERMES.toolsets] for toolsets in given.values())


def test_an_empty_choice_is_the_safe_set(place: EnginePlace) -> None:
    given = settings(render(place, toolsets=[]))["platform_toolsets"]["api_server"]
    assert given == list(HERMES.safe_toolsets)
    assert not {"terminal", "code_execution"} & set(given)


def test_servers_get_names_that_no_toolset_has(place: EnginePlace) -> None:
    web = {"name": "web", "url": "http://127.0.0.1:1/mcp", "headers": {"x-key": "k"}}
    files = {"name": "files", "command": "server", "args": ["-v"], "env": {"A": "b"}}
    servers = settings(render(place, mcp_servers=[web, files]))["mcp_servers"]
    assert set(servers) == {"u-web", "u-files"}
    assert servers["u-web"]["headers"] == {"x-key": "k"}
    assert servers["u-files"]["args"] == ["-v"]


def test_an_agent_with_peers_gets_the_gateways_server(place: EnginePlace) -> None:
    server = settings(render(place, has_peers=True))["mcp_servers"]["u-a2a"]
    assert server["url"] == "http://127.0.0.1:7000/peers"
    assert server["headers"] == {"Authorization": "Bearer pod-token-4711"}


def test_soul_language_and_time_zone_are_rendered(place: EnginePlace) -> None:
    launch = render(place, soul="Soul.", extra_soul="More.", lang="ru", timezone="Europe/Berlin")
    soul = text(launch, "SOUL.md")
    assert soul.index("Soul.") < soul.index("More.")
    assert "по-русски" in soul
    assert settings(launch)["display"]["language"] == "ru"
    assert settings(launch)["timezone"] == launch.env["TZ"] == launch.env["HERMES_TIMEZONE"] == "Europe/Berlin"


def test_equal_configurations_need_no_restart_between_them(place: EnginePlace) -> None:
    assert render(place, revision=1) == render(place, revision=2, a2a_enabled=True)
    assert render(place) != render(place, soul="Another.")


@pytest.mark.parametrize(
    ("channel", "expected"),
    [
        ("telegram", {"TELEGRAM_BOT_TOKEN": "telegram-secret"}),
        ("discord", {"DISCORD_BOT_TOKEN": "discord-secret"}),
        (
            "whatsapp",
            {"WHATSAPP_CLOUD_PHONE_NUMBER_ID": "100200300", "WHATSAPP_CLOUD_ACCESS_TOKEN": "whatsapp-secret"},
        ),
        (
            "email",
            {
                "EMAIL_ADDRESS": "agent@example.org",
                "EMAIL_PASSWORD": "email-secret",
                "EMAIL_SMTP_HOST": "smtp.example.org",
                "EMAIL_IMAP_HOST": "imap.example.org",
            },
        ),
    ],
)
def test_a_channel_gets_its_secrets_and_no_others(place: EnginePlace, channel: str, expected: dict[str, str]) -> None:
    launch = render(place, channels=["web", channel], channel_secrets=SECRETS)
    assert expected.items() <= launch.env.items()
    assert not {secret for secret in SECRETS.values() if secret in launch.env.values()} - set(expected.values())
    assert launch.env["GATEWAY_ALLOW_ALL_USERS"] == "true"


def test_the_authorities_that_the_machine_trusts_are_trusted(
    place: EnginePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    assert "SSL_CERT_FILE" not in render(place).env
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/own-authorities.pem")
    assert render(place).env["SSL_CERT_FILE"] == "/etc/own-authorities.pem"


def test_without_channels_nobody_is_let_in(place: EnginePlace) -> None:
    launch = render(place, channels=["web"], channel_secrets=SECRETS)
    assert "GATEWAY_ALLOW_ALL_USERS" not in launch.env
    assert not set(SECRETS.values()) & set(launch.env.values())
    assert settings(launch)["platforms"] == {}


def test_channels_wait_for_the_model_key(place: EnginePlace) -> None:
    launch = render(place, channels=["web", "telegram"], channel_secrets=SECRETS, has_key=False)
    assert not set(SECRETS.values()) & set(launch.env.values())
    assert settings(launch)["platforms"] == {}


def test_nobody_on_a_channel_commands_the_engine(place: EnginePlace) -> None:
    platform = settings(render(place, channels=["telegram"], channel_secrets=SECRETS))["platforms"]["telegram"]
    assert platform["allow_admin_from"] == platform["group_allow_admin_from"] == ["nobody"]
    assert not {"model", "restart", "update", "yolo", "sethome"} & set(platform["user_allowed_commands"])


def test_telegram_bots_speak_where_the_operator_says(place: EnginePlace) -> None:
    launch = render(place, channels=["telegram"], channel_secrets=SECRETS, telegram_api_url="http://10.0.0.6:8081/")
    extra = settings(launch)["platforms"]["telegram"]["extra"]
    assert extra == {"base_url": "http://10.0.0.6:8081/bot", "base_file_url": "http://10.0.0.6:8081/file/bot"}
    assert (
        "extra" not in settings(render(place, channels=["telegram"], channel_secrets=SECRETS))["platforms"]["telegram"]
    )


@pytest.mark.parametrize(("hears", "whatsapp"), [(True, None), (False, "whatsappAppSecret")])
def test_channels_are_told_by_our_names_and_whatsapp_hears_only_with_its_secret(
    hears: bool, whatsapp: str | None
) -> None:
    reported = {
        "telegram": {"state": "connected"},
        "discord": {"state": "fatal", "error_message": "Improper token"},
        "whatsapp_cloud": {"state": "connected"},
    }
    told = states(reported, hears_whatsapp=hears)
    assert told["telegram"] is None
    assert told["discord"] == "Improper token"
    assert told["whatsapp"] is None if whatsapp is None else whatsapp in (told["whatsapp"] or "")
    assert "model key" in (told["email"] or "")


def test_the_dashboard_runs_beside_the_engine_where_the_owner_has_credentials_and_gets_no_secret(
    place: EnginePlace,
) -> None:
    assert render(place).side is None
    side = render(place, dashboard=True, channels=["telegram"], channel_secrets=SECRETS).side
    assert side
    assert side.argv[-6:-2] == ("--host", "127.0.0.1", "--port", "7002")
    assert not {LLM.token, place.password, *SECRETS.values()} & set(side.env.values())
    assert render(place).serves_as(render(place, dashboard=True))


@pytest.mark.parametrize(
    ("method", "path", "is_refused"),
    [
        ("GET", "/dashboard/sessions", False),
        ("GET", "/dashboard/api/config", False),
        ("DELETE", "/dashboard/api/sessions/web-a", False),
        ("POST", "/dashboard/api/cron/jobs", False),
        ("PUT", "/dashboard/api/config", True),
        ("PUT", "/dashboard/api/model/set", True),
        ("GET", "/dashboard/api/pty", True),
        ("GET", "/dashboard/api/env", True),
        ("GET", "/dashboard/api/fs/read", True),
        ("POST", "/dashboard/api/gateway/restart", True),
    ],
)
def test_the_dashboard_reads_and_changes_only_what_the_console_does_not(
    method: str, path: str, is_refused: bool
) -> None:
    assert (DASHBOARD.refuses(method, path) is not None) == is_refused


def test_conversations_forget_the_prompts_of_an_earlier_configuration_and_nothing_else(tmp_path: Path) -> None:
    database = tmp_path / "state.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE sessions (id TEXT, system_prompt TEXT, title TEXT)")
        connection.execute("INSERT INTO sessions VALUES ('web-a', 'You are the old one.\n\nModel: gpt-5', 'kept')")
    (tmp_path / "prompt-version").write_text("two")
    start.forget_prompts(tmp_path)
    assert prompts(database) == [("Model: (of an earlier configuration)", "kept")]


def test_equal_configurations_keep_the_prompts(tmp_path: Path) -> None:
    (tmp_path / "prompt-version").write_text("one")
    start.forget_prompts(tmp_path)
    with sqlite3.connect(tmp_path / "state.db") as connection:
        connection.execute("CREATE TABLE sessions (id TEXT, system_prompt TEXT, title TEXT)")
        connection.execute("INSERT INTO sessions VALUES ('web-a', 'You are the one.', 'kept')")
    start.forget_prompts(tmp_path)
    assert prompts(tmp_path / "state.db") == [("You are the one.", "kept")]


def prompts(database: Path) -> list[tuple[str, str]]:
    with sqlite3.connect(database) as connection:
        return connection.execute("SELECT system_prompt, title FROM sessions").fetchall()


def test_the_lock_pins_every_package_by_hash_and_names_no_registry() -> None:
    lock = (RECIPE / "requirements.txt").read_text(encoding="utf-8")
    assert f"hermes-agent=={HERMES.package.version}" in lock
    assert not re.search(r"https?:|--(index|find|extra)|@ file", lock)
    assert all("--hash=sha256:" in block for block in re.split(r"\n(?=\S)", lock.strip()))


def test_the_public_catalog_promises_what_the_engine_can() -> None:
    entries = yaml.safe_load((CATALOG / "engines.yaml").read_text(encoding="utf-8"))
    public = {entry["id"]: entry for entry in entries}["hermes"]
    assert set(public["toolsets"]) - {"a2a"} == set(HERMES.toolsets)
    assert set(public["llm_providers"]) == HERMES.providers
    assert public["status"] == "stable"


def test_the_configuration_is_yaml_whatever_the_soul_holds(place: EnginePlace) -> None:
    rendered = text(render(place, name='x: "y" # {z}\u2028', model="vendor/model:free"), "config.yaml")
    assert yaml.safe_load(rendered) == json.loads(rendered)
