"""openclaw's channels: how their secrets reach it, and what it says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.runtimes.base import PodConfig

_WAITS = "not connected: channels wait for the model key"
_TOKEN = "TELEGRAM_BOT_TOKEN"  # noqa: S105 - the name of a variable


def platforms(config: PodConfig) -> list[str]:
    """Without a model key nobody is connected: openclaw would tell people of errors where the agent is to be silent."""
    return ["telegram"] if "telegram" in config.channels and config.has_key else []


def environment(config: PodConfig) -> dict[str, str]:
    return {_TOKEN: config.channel_secrets["telegramToken"]} if platforms(config) else {}


def settings(config: PodConfig) -> dict[str, Any]:
    """Whoever finds the agent may talk to it, but nobody commands its engine."""
    if not platforms(config):
        return {}
    telegram: dict[str, Any] = {
        "enabled": True,
        "botToken": f"${{{_TOKEN}}}",
        "dmPolicy": "open",
        "allowFrom": ["*"],
        "groupPolicy": "open",
        "configWrites": False,
        "commands": {"native": False, "nativeSkills": False},
    }
    if config.telegram_api_url:
        telegram["apiRoot"] = config.telegram_api_url.rstrip("/")
    return {"telegram": telegram}


def states(reported: Mapping[str, Any]) -> dict[str, str | None]:
    """None is connected, else why not."""
    return {"telegram": _WAITS, **{name: _trouble(state) for name, state in reported.items() if name == "telegram"}}


def _trouble(state: Mapping[str, Any]) -> str | None:
    if state.get("connected"):
        return None
    return str(state.get("lastError") or _WAITS)
