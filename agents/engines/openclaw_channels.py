"""openclaw's channels: how their secrets reach it, and what it says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.runtimes.base import PodConfig

_WAITS = "not connected: channels wait for the model key"
# Whoever finds the agent on a channel may talk to it, but not command its engine; the plugin says so.
COMMANDS = {"native": False, "nativeSkills": False, "restart": False, "allowFrom": {"*": ["nobody"]}}
_TOKEN = "TELEGRAM_BOT_TOKEN"  # noqa: S105 - the name of a variable


def platforms(config: PodConfig) -> list[str]:
    """Without a model key nobody is connected: openclaw would tell people of errors where the agent is to be silent."""
    return ["telegram"] if "telegram" in config.channels and config.has_key else []


def environment(config: PodConfig) -> dict[str, str]:
    return {_TOKEN: config.channel_secrets["telegramToken"]} if platforms(config) else {}


def settings(config: PodConfig) -> dict[str, Any]:
    if not platforms(config):
        return {}
    telegram: dict[str, Any] = {
        "enabled": True,
        "botToken": f"${{{_TOKEN}}}",
        "dmPolicy": "open",
        "allowFrom": ["*"],
        "groupPolicy": "open",
        "configWrites": False,
    }
    if config.telegram_api_url:
        telegram["apiRoot"] = config.telegram_api_url.rstrip("/")
    return {"telegram": telegram}


def states(reported: Mapping[str, Any]) -> dict[str, str | None]:
    """openclaw's report on its channels: None is connected, else why not."""
    accounts = (reported.get("channelAccounts") or {}).get("telegram") or [{}]
    return {"telegram": _trouble(accounts[0])}


def _trouble(account: Mapping[str, Any]) -> str | None:
    if account.get("connected"):
        return None
    return str(account.get("lastError") or ("connecting" if account.get("running") else _WAITS))
