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

# A poll without news takes ten seconds.
SILENT_MINUTES = 1

# Whoever finds the agent on a channel may talk to it, but not command its engine: nobody is its administrator there.
_COMMANDS = ["new", "status", "stop"]
_NOBODY = ["nobody"]
_MANNERS: dict[str, Any] = {
    "allow_admin_from": _NOBODY,
    "group_allow_admin_from": _NOBODY,
    "user_allowed_commands": _COMMANDS,
    "group_user_allowed_commands": _COMMANDS,
    "gateway_restart_notification": False,
}
# One of Telegram's own addresses; without one, hermes would ask public resolvers for more. It is not used.
_TELEGRAM_ENVIRONMENT = {"TELEGRAM_FALLBACK_IPS": "149.154.167.220", "HERMES_TELEGRAM_DISABLE_FALLBACK_IPS": "1"}
_ENVIRONMENT = {
    "telegram": _TELEGRAM_ENVIRONMENT,
    # Any free port: agents of one machine would fight for hermes' own.
    "whatsapp": {"WHATSAPP_CLOUD_WEBHOOK_HOST": "127.0.0.1", "WHATSAPP_CLOUD_WEBHOOK_PORT": "0"},
}
_NO_INBOUND = "it can send, but hears nothing: WhatsApp delivers messages only to a webhook that its owner verifies"


def platforms(config: PodConfig) -> list[str]:
    """Without a model key nobody is connected: hermes would tell people of errors where the agent is to be silent."""
    return [PLATFORMS[channel] for channel in config.channels if channel in PLATFORMS and config.has_key]


def environment(config: PodConfig) -> dict[str, str]:
    """The secrets of the chosen channels alone: a token in the environment is what connects a channel."""
    if not platforms(config):
        return {}
    given = {"GATEWAY_ALLOW_ALL_USERS": "true"}  # hermes would turn away everybody whom nobody named
    for channel in config.channels:
        secrets = {theirs: config.channel_secrets[ours] for ours, theirs in _SECRETS.get(channel, {}).items()}
        given |= {**_ENVIRONMENT.get(channel, {}), **secrets}
    return given


def settings(config: PodConfig) -> dict[str, Any]:
    blocks = {name: {**_MANNERS, "home_channel": _home(name)} for name in platforms(config)}
    if config.telegram_api_url and "telegram" in blocks:
        root = config.telegram_api_url.rstrip("/")
        blocks["telegram"]["extra"] = {"base_url": f"{root}/bot", "base_file_url": f"{root}/file/bot"}
    return {"platforms": blocks}


def _home(platform: str) -> dict[str, str]:
    """A chat that is nobody's: with none, hermes would ask each person to make his own the place for its reports."""
    return {"platform": platform, "chat_id": "0", "name": "nobody"}


def states(reported: Mapping[str, Any]) -> dict[str, str | None]:
    """hermes' report on its platforms, in our channels' names: None is connected, else why not."""
    states = {channel: _trouble(reported.get(name) or {}) for channel, name in PLATFORMS.items()}
    return {**states, "whatsapp": states["whatsapp"] or _NO_INBOUND}


def _trouble(platform: Mapping[str, Any]) -> str | None:
    state = str(platform.get("state") or "not connected: channels wait for the model key")
    if state == "connected":
        return _unheard(platform.get("poll") or {})
    return str(platform.get("error_message") or state)


def _unheard(poll: Mapping[str, Any]) -> str | None:
    """Of a channel that hermes calls connected: whether its polls (hermes_start.py) bring anything."""
    if poll.get("refused"):
        return "the service refuses the bot's token"
    minutes = int(poll.get("seconds") or 0) // 60
    if minutes < SILENT_MINUTES:
        return None
    failure = poll.get("failure") or "the service does not answer"
    return f"no poll has succeeded for {minutes} minute{'s' if minutes > 1 else ''}: {failure}"
