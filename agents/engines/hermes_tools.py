"""hermes' tools that use services paid for by the owner. Each has its own setting, with the gateway's address and
token.
The environment of a process can hold only one address and key for OpenAI. The image tool needs them, because it has no
other setting.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from agents.engines.base import ProxyAccess
from agents.engines.tool_services import base_url


def settings(chosen: Collection[str], llm: ProxyAccess) -> dict[str, Any]:
    """The tools' part of config.yaml."""
    openai = base_url("openai", llm.url)
    said: dict[str, Any] = {"stt": {"enabled": False}}
    if {"web", "search"} & set(chosen):
        said["web"] = {"backend": "tavily"}
    if "image_gen" in chosen:
        said["image_gen"] = {"provider": "openai"}
    if "tts" in chosen:
        said["tts"] = {"provider": "openai", "openai": {"base_url": openai}}
    if "stt" in chosen:
        said["stt"] = {"enabled": True, "provider": "openai", "openai": {"model": "whisper-1"}}
    return said


def environment(chosen: Collection[str], llm: ProxyAccess) -> dict[str, str]:
    openai = base_url("openai", llm.url)
    said: dict[str, str] = {}
    if {"web", "search"} & set(chosen):
        said |= {"TAVILY_API_KEY": llm.token, "TAVILY_BASE_URL": base_url("tavily", llm.url)}
    if {"tts", "stt"} & set(chosen):
        said |= {"VOICE_TOOLS_OPENAI_KEY": llm.token, "STT_OPENAI_BASE_URL": openai}
    if "image_gen" in chosen:
        said |= {"OPENAI_API_KEY": llm.token, "OPENAI_BASE_URL": openai}
    return said
