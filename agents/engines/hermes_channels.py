"""hermes' channels: what each one is called there, and how its secrets reach it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.runtimes.base import PodConfig

# Our channel, and hermes' platform.
PLATFORMS = {"telegram": "telegram", "discord": "discord", "whatsapp": "whatsapp_cloud", "email": "email"}
_SECRETS = {
    "telegram": {"telegramToken": "TELEGRAM_BOT_TOKEN"},
    "discord": {"discordToken": "DISCORD_BOT_TOKEN"},
    "whatsapp": {
        "whatsappPhoneNumberId": "WHATSAPP_CLOUD_PHONE_NUMBER_ID",
        "whatsappAccessToken": "WHATSAPP_CLOUD_ACCESS_TOKEN",
    },
    "email": {
        "emailAddress": "EMAIL_ADDRESS",
        "emailPassword": "EMAIL_PASSWORD",
        "emailSmtpHost": "EMAIL_SMTP_HOST",
        "emailImapHost": "EMAIL_IMAP_HOST",
    },
}


def platforms(config: PodConfig) -> list[str]:
    return [PLATFORMS[channel] for channel in config.channels if channel in PLATFORMS]


def environment(config: PodConfig) -> dict[str, str]:
    """The secrets of the chosen channels alone: a token in the environment is what connects a channel."""
    names = {ours: theirs for channel in config.channels for ours, theirs in _SECRETS.get(channel, {}).items()}
    given = {theirs: config.channel_secrets[ours] for ours, theirs in names.items() if ours in config.channel_secrets}
    # Whoever finds the agent there may talk to it, as on its web page's A2A; hermes would turn everybody away.
    return {**given, "GATEWAY_ALLOW_ALL_USERS": "true"} if given else {}


def settings(config: PodConfig) -> dict[str, Any]:
    """Nothing but answers is sent: no progress of tools, no greetings of a restart."""
    chosen = platforms(config)
    extra: dict[str, Any] = {}
    if config.telegram_api_url:
        root = config.telegram_api_url.rstrip("/")
        extra = {"telegram": {"extra": {"base_url": f"{root}/bot", "base_file_url": f"{root}/file/bot"}}}
    return extra if chosen else {}


def states(reported: Mapping[str, Any]) -> dict[str, str | None]:
    """hermes' report on its platforms, in our channels' names: None is connected, else why not."""
    return {channel: _trouble(reported.get(name) or {}) for channel, name in PLATFORMS.items()}


def _trouble(platform: Mapping[str, Any]) -> str | None:
    state = str(platform.get("state") or "not started")
    if state == "connected":
        return None
    return str(platform.get("error_message") or state)
