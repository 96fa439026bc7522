"""The settings for openclaw's channels, and how its report on them is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agents.engines import openclaw_channels
from agents.engines.base import EnginePlace, ProxyAccess
from agents.engines.openclaw import OPENCLAW
from tests.agents.pod.bridge.process import pod_config

NOW = 1_795_736_345.0
BOTH: dict[str, Any] = {
    "channels": ["web", "telegram", "discord"],
    "channel_secrets": {"telegramToken": "1:t", "discordToken": "d.t"},
}


def said(**account: Any) -> str | None:
    return openclaw_channels.states({"channelAccounts": {"telegram": [account]}}, now=NOW)["telegram"]


def polled(seconds_ago: float) -> dict[str, Any]:
    return {"connected": True, "mode": "polling", "lastTransportActivityAt": int((NOW - seconds_ago) * 1000)}


def test_tokens_are_in_the_environment_alone_and_only_those_of_the_chosen_channels() -> None:
    environment = openclaw_channels.environment(pod_config(**BOTH))
    assert environment == {"TELEGRAM_BOT_TOKEN": "1:t", "DISCORD_BOT_TOKEN": "d.t"}
    rendered = openclaw_channels.settings(pod_config(**BOTH))
    assert set(rendered) == {"telegram", "discord"}
    assert "1:t" not in str(rendered)
    assert "d.t" not in str(rendered)
    one = pod_config(**{**BOTH, "channels": ["web", "discord"]})
    assert openclaw_channels.environment(one) == {"DISCORD_BOT_TOKEN": "d.t"}
    assert set(openclaw_channels.settings(one)) == {"discord"}


def test_without_a_model_key_no_channel_is_connected() -> None:
    config = pod_config(has_key=False, **BOTH)
    assert openclaw_channels.settings(config) == openclaw_channels.environment(config) == {}
    assert set(openclaw_channels.states({}).values()) == {"not connected: channels wait for the model key"}


def test_the_model_reads_no_second_copy_of_a_conversation() -> None:
    rendered = openclaw_channels.settings(pod_config(**BOTH))
    assert (rendered["telegram"]["dmHistoryLimit"], rendered["telegram"]["historyLimit"]) == (0, 0)
    assert rendered["discord"]["historyLimit"] == 0


def test_bots_speak_where_the_operator_says() -> None:
    config = pod_config(telegram_api_url="http://10.0.0.7/", discord_api_url="https://discord.example.com/", **BOTH)
    assert openclaw_channels.settings(config)["telegram"]["apiRoot"] == "http://10.0.0.7"
    assert openclaw_channels.environment(config)["DISCORD_API_URL"] == "https://discord.example.com/api/v10"
    assert "DISCORD_API_URL" not in openclaw_channels.environment(pod_config(**BOTH))


@pytest.mark.parametrize(
    ("account", "words"),
    [
        ({"connected": True}, None),
        ({"running": True}, "connecting"),
        ({"connected": False, "lastError": "no route"}, "no route"),
        ({"lastError": "Discord API /gateway/bot failed (401): ..."}, "the service refuses the bot's token"),
        (
            {"lastError": "Unauthorized | Telegram ingress worker exited with code 1"},
            "the service refuses the bot's token",
        ),
        ({"lastError": "Fatal gateway close code: 4004"}, "the service refuses the bot's token"),
        (
            {"lastError": "Gateway websocket closed: 4014"},
            "the bot lacks Discord's Message Content Intent: switch it on in the developer portal",
        ),
        (polled(59.9), None),
        (polled(60), "no poll has succeeded for 1 minute: the service does not answer"),
        ({**polled(600), "lastError": "Timed out"}, "no poll has succeeded for 10 minutes: Timed out"),
        ({"connected": True, "lastTransportActivityAt": 1}, None),  # a channel that does not poll
    ],
)
def test_a_channel_is_well_or_says_why_not(account: dict[str, Any], words: str | None) -> None:
    assert said(**account) == words


def test_what_whatsapp_needs_is_the_drivers_alone_and_never_the_engines(tmp_path: Path) -> None:
    place = EnginePlace(
        install=tmp_path, node=Path("/node"), data=tmp_path, memory_bytes=2**31, port=7001, password="engine-password"
    )
    secrets = {"whatsappPhoneNumberId": "1066", "whatsappAccessToken": "EAAG-token", "whatsappAppSecret": "app-secret"}
    config = pod_config(channels=["web", "whatsapp"], channel_secrets=secrets, whatsapp_api_url="http://10.0.0.7/")
    launch = OPENCLAW.render(config, place=place, llm=ProxyAccess(url="http://127.0.0.1:1", token="pod-token"))
    assert launch.private == {**secrets, "url": "http://10.0.0.7"}
    seen = str([launch.env, launch.argv, launch.files, launch.live_files, repr(launch)])
    assert not [secret for secret in secrets.values() if secret in seen]
    assert not launch.serves_as(OPENCLAW.render(pod_config(), place=place, llm=ProxyAccess(url="http://a", token="t")))
