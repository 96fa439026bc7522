"""openclaw's channels: how their secrets reach openclaw, and how its report on them is read."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Any

from agents.runtimes.base import PodConfig

# A poll without messages takes half a minute.
SILENT_MINUTES = 1
_SILENT = "the service does not answer"
_WAITS = "not connected: channels wait for the model key"
# Everybody who finds the agent on a channel may talk to it, but not control its engine. The plugin tells people so.
COMMANDS = {"native": False, "nativeSkills": False, "restart": False, "allowFrom": {"*": ["nobody"]}}
_TOKENS = {
    "telegram": ("telegramToken", "TELEGRAM_BOT_TOKEN"),
    "discord": ("discordToken", "DISCORD_BOT_TOKEN"),
}
# Everybody may talk to the agent. In a group it answers only when it is mentioned.
_OPEN: dict[str, Any] = {
    "enabled": True,
    "dmPolicy": "open",
    "allowFrom": ["*"],
    "groupPolicy": "open",
    "configWrites": False,
}
# Otherwise openclaw repeats the conversation with each message, and mixes its own instructions into people's texts.
# What people in a group say to each other must not reach the model.
_TELEGRAM: dict[str, Any] = {"dmHistoryLimit": 0, "historyLimit": 0}
_DISCORD: dict[str, Any] = {
    "guilds": {"*": {"requireMention": True, "reactionNotifications": "off"}},
    "historyLimit": 0,  # what people on a server say to each other must not reach the model
    "joinIntro": False,
    "voice": {"enabled": False},
    "agentComponents": {"enabled": False},
    "execApprovals": {"enabled": False},
    "threadBindings": {"enabled": False},
}
# Patterns of openclaw's errors when a service refuses a connection, and the texts for the owner.
_REFUSALS = (
    (r"\b401\b|\b4004\b|\bUnauthorized\b", "the service refuses the bot's token"),
    (r"\b4014\b", "the bot lacks Discord's Message Content Intent: switch it on in the developer portal"),
)


def platforms(config: PodConfig) -> list[str]:
    """The agent's channels that are connected. Without a model key none is: openclaw would send error messages to
    people, but the agent must be silent.
    """
    return [channel for channel in config.channels if channel in _TOKENS and config.has_key]


def environment(config: PodConfig) -> dict[str, str]:
    given = {theirs: config.channel_secrets[ours] for ours, theirs in map(_TOKENS.__getitem__, platforms(config))}
    if config.discord_api_url and "discord" in platforms(config):
        given["DISCORD_API_URL"] = f"{config.discord_api_url.rstrip('/')}/api/v10"
    return given


def settings(config: PodConfig) -> dict[str, Any]:
    channels = platforms(config)
    found: dict[str, Any] = {}
    if "telegram" in channels:
        found["telegram"] = {**_OPEN, **_TELEGRAM, "botToken": "${TELEGRAM_BOT_TOKEN}"}
        if config.telegram_api_url:
            found["telegram"]["apiRoot"] = config.telegram_api_url.rstrip("/")
    if "discord" in channels:
        found["discord"] = {**_OPEN, **_DISCORD, "token": "${DISCORD_BOT_TOKEN}"}
    return found


def states(reported: Mapping[str, Any], *, now: float | None = None) -> dict[str, str | None]:
    """openclaw's report on its channels: None = connected, else the reason why not."""
    accounts = reported.get("channelAccounts") or {}
    now = time.time() if now is None else now
    return {channel: _trouble((accounts.get(channel) or [{}])[0], now) for channel in _TOKENS}


def _trouble(account: Mapping[str, Any], now: float) -> str | None:
    error = str(account.get("lastError") or "")
    if account.get("connected"):
        return _unheard(account, error, now)
    error = error or ("connecting" if account.get("running") else _WAITS)
    return next((words for pattern, words in _REFUSALS if re.search(pattern, error)), error)


def _unheard(account: Mapping[str, Any], error: str, now: float) -> str | None:
    """The problem of a channel that openclaw calls connected; None if its polls work. openclaw also calls a channel
    connected while it only tries again.
    """
    last = account.get("lastTransportActivityAt")
    if account.get("mode") != "polling" or not last:
        return None
    minutes = int(now - last / 1000) // 60
    if minutes < SILENT_MINUTES:
        return None
    return f"no poll has succeeded for {minutes} minute{'s' if minutes > 1 else ''}: {error or _SILENT}"
