"""LLM providers as seen from a pod: where they are, how they take a key, and which path an engine's request goes to.

An engine sends `GW/llm/<provider>/<path>`. Engines disagree about what they append to a base URL (`/v1/messages`,
`/messages`, `/openai/v1/chat/completions`), so the version prefix is cut off and the vendor's own is put in its place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit


class KeyHeader(StrEnum):
    BEARER = "Authorization"
    ANTHROPIC = "x-api-key"
    GOOGLE = "x-goog-api-key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    base_url: str  # LLM_BASE_URLS overrides it: what the vendor's own SDK takes
    sdk_prefix: str = ""  # what that SDK puts between a base without a version and the resource
    key_header: KeyHeader = KeyHeader.BEARER
    check_path: str | None = (
        "/models"  # a cheap GET that refuses a bad key, below base and prefix; None = there is none
    )

    def key_headers(self, key: str) -> dict[str, str]:
        """The headers by which this provider takes a key."""
        if self.key_header is KeyHeader.BEARER:
            return {"Authorization": f"Bearer {key}"}
        headers = {str(self.key_header): key}
        return {**headers, "anthropic-version": "2023-06-01"} if self.key_header is KeyHeader.ANTHROPIC else headers


_GOOGLE = Provider(
    base_url="https://generativelanguage.googleapis.com/v1beta",
    sdk_prefix="/v1beta",
    key_header=KeyHeader.GOOGLE,
    check_path="/models?pageSize=1",
)
PROVIDERS: dict[str, Provider] = {
    "openai": Provider(base_url="https://api.openai.com/v1"),
    "anthropic": Provider(base_url="https://api.anthropic.com", sdk_prefix="/v1", key_header=KeyHeader.ANTHROPIC),
    "openrouter": Provider(base_url="https://openrouter.ai/api/v1", check_path="/key"),  # its /models is public
    "google": _GOOGLE,
    "gemini": _GOOGLE,
    "groq": Provider(base_url="https://api.groq.com/openai/v1", sdk_prefix="/openai/v1"),
    "mistral": Provider(base_url="https://api.mistral.ai/v1", sdk_prefix="/v1"),
    "deepseek": Provider(base_url="https://api.deepseek.com", check_path="/user/balance"),
    "xai": Provider(base_url="https://api.x.ai/v1", check_path="/api-key"),
    "nous": Provider(base_url="https://inference-api.nousresearch.com/v1", check_path=None),  # its /models is public
}

# What engines put before the resource; the longest first.
_PREFIXES = ("/openai/v1", "/api/v1", "/v1beta", "/v1")
# A path may only go down: plain segments, no dots alone, nothing encoded that could hide a slash or a dot.
_SEGMENT = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._~:@!$&'()*+,;=-]+")


class BadPathError(ValueError):
    """The path could leave the provider's base."""


def base_url_of(provider: str, overrides: dict[str, str]) -> str:
    """The provider's base: the operator's, else the vendor's. `google` and `gemini` stand in for each other."""
    twin = {"google": "gemini", "gemini": "google"}.get(provider, provider)
    return overrides.get(provider) or overrides.get(twin) or PROVIDERS[provider].base_url


def upstream_url(provider: str, base: str, path: str) -> str:
    """The URL of an engine's request. `path` is what follows `/llm/<provider>`, undecoded and without its query."""
    root = base.rstrip("/")
    prefix = PROVIDERS[provider].sdk_prefix
    if prefix and _ends_with_a_version(root):
        prefix = ""
    return root + prefix + _resource(path)


def _ends_with_a_version(root: str) -> bool:
    return urlsplit(root).path.endswith(("/v1", "/v1beta"))


def _resource(path: str) -> str:
    if not path.startswith("/") or not all(_SEGMENT.fullmatch(part) for part in path[1:].split("/")):
        raise BadPathError(path)
    for prefix in _PREFIXES:
        if path.startswith(prefix + "/"):
            return path[len(prefix) :]
    return path
