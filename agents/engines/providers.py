"""LLM providers from the view of a pod: their addresses, how they accept a key, and which of their calls an engine may
make.
An engine calls `<gateway>/llm/<provider>/<path>`. Engines append different paths to a base URL (`/v1/messages`,
`/messages`, `/openai/v1/chat/completions`). So the version prefix is cut off and replaced by the vendor's own.
A model key opens more than inference: files, batches, billing, the keys of an organisation. An engine may make only the
calls in the table below. `{model}` in a path is the name of a model, which may start with its vendor.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

_MODELS = ("GET /models", "GET /models/{model}")
_CHAT, _RESPONSES, _EMBEDDINGS = "POST /chat/completions", "POST /responses", "POST /embeddings"
# Google's own protocol, and OpenAI's protocol at Google.
_GOOGLE_CALLS = (
    "GET /models",
    "GET /models/{name}",
    "POST /models/{name}:generateContent",
    "POST /models/{name}:streamGenerateContent",
    "POST /models/{name}:countTokens",
    "POST /models/{name}:embedContent",
    "POST /models/{name}:batchEmbedContents",
    "GET /openai/models",
    "GET /openai/models/{model}",
    "POST /openai/chat/completions",
    "POST /openai/embeddings",
)


class KeyHeader(StrEnum):
    BEARER = "Authorization"
    ANTHROPIC = "x-api-key"
    GOOGLE = "x-goog-api-key"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProvider:
    base_url: str  # LLM_BASE_URLS overrides it; the same base URL that the vendor's own SDK accepts
    calls: tuple[str, ...] = (_CHAT, *_MODELS)  # allowed calls as `METHOD /path`, the path without its version prefix
    sdk_prefix: str = ""  # the path that the vendor's SDK adds to a base URL without a version
    key_header: KeyHeader = KeyHeader.BEARER
    check_path: str | None = (
        "/models"  # a cheap GET that fails for a bad key, relative to base and prefix; None = there is none
    )

    def key_headers(self, key: str) -> dict[str, str]:
        """The headers in which this provider accepts a key."""
        if self.key_header is KeyHeader.BEARER:
            return {"Authorization": f"Bearer {key}"}
        headers = {str(self.key_header): key}
        return {**headers, "anthropic-version": "2023-06-01"} if self.key_header is KeyHeader.ANTHROPIC else headers


_GOOGLE = ModelProvider(
    base_url="https://generativelanguage.googleapis.com/v1beta",
    sdk_prefix="/v1beta",
    calls=_GOOGLE_CALLS,
    key_header=KeyHeader.GOOGLE,
    check_path="/models?pageSize=1",
)
PROVIDERS: dict[str, ModelProvider] = {
    "openai": ModelProvider(base_url="https://api.openai.com/v1", calls=(_CHAT, _RESPONSES, _EMBEDDINGS, *_MODELS)),
    "anthropic": ModelProvider(
        base_url="https://api.anthropic.com",
        calls=("POST /messages", "POST /messages/count_tokens", *_MODELS),
        sdk_prefix="/v1",
        key_header=KeyHeader.ANTHROPIC,
    ),
    "openrouter": ModelProvider(
        base_url="https://openrouter.ai/api/v1",
        calls=(_CHAT, _RESPONSES, _EMBEDDINGS, *_MODELS),
        check_path="/key",  # because its /models is public
    ),
    "google": _GOOGLE,
    "gemini": _GOOGLE,
    "groq": ModelProvider(
        base_url="https://api.groq.com/openai/v1", calls=(_CHAT, _RESPONSES, *_MODELS), sdk_prefix="/openai/v1"
    ),
    "mistral": ModelProvider(
        base_url="https://api.mistral.ai/v1", calls=(_CHAT, _EMBEDDINGS, *_MODELS), sdk_prefix="/v1"
    ),
    "deepseek": ModelProvider(base_url="https://api.deepseek.com", check_path="/user/balance"),
    "xai": ModelProvider(base_url="https://api.x.ai/v1", calls=(_CHAT, _RESPONSES, *_MODELS), check_path="/api-key"),
    # because its /models is public
    "nous": ModelProvider(base_url="https://inference-api.nousresearch.com/v1", check_path=None),
}

# Prefixes that engines put before a resource, the longest first.
_PREFIXES = ("/openai/v1", "/api/v1", "/v1beta", "/v1")
# A path may only lead down: plain segments without a dot at either end, and nothing encoded, which could hide a slash.
_SEGMENT = re.compile(r"(?!\.)[A-Za-z0-9._:@+-]+(?<!\.)")
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_PLACEHOLDERS = {"{name}": _NAME, "{model}": r"(?:[A-Za-z0-9][A-Za-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._:@+-]*"}


class BadPathError(ValueError):
    """The path could lead out of the provider's base URL."""


def base_url_of(provider: str, overrides: dict[str, str]) -> str:
    """The provider's base URL: the operator's, else the vendor's. A setting for `google` also counts for `gemini`, and
    the reverse.
    """
    twin = {"google": "gemini", "gemini": "google"}.get(provider, provider)
    return overrides.get(provider) or overrides.get(twin) or PROVIDERS[provider].base_url


def is_own_server(provider: str, overrides: dict[str, str]) -> bool:
    """Whether the operator uses an own server in place of the vendor's."""
    given, vendors = base_url_of(provider, overrides), PROVIDERS[provider].base_url
    return urlsplit(given).hostname != urlsplit(vendors).hostname


def methods_of(provider: str, path: str) -> frozenset[str]:
    """The HTTP methods with which an engine may call this path; none if the path is not inference. `path` is the same
    as for `upstream_url`. Raises BadPathError.
    """
    resource = _resource(path)
    return frozenset(method for method, wanted in _calls(provider) if wanted.fullmatch(resource))


def upstream_url(provider: str, base: str, path: str) -> str:
    """The provider's URL for an engine's request. `path` is the part after `/llm/<provider>`, not decoded and without
    the query. Raises BadPathError.
    """
    root = base.rstrip("/")
    prefix = PROVIDERS[provider].sdk_prefix
    if prefix and urlsplit(root).path.endswith(("/v1", "/v1beta")):
        prefix = ""
    return root + prefix + _resource(path)


@functools.cache
def _calls(provider: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    split = (call.partition(" ") for call in PROVIDERS[provider].calls)
    return tuple((method, _pattern(path)) for method, _, path in split)


def _pattern(path: str) -> re.Pattern[str]:
    pieces = re.split(r"(\{\w+\})", path)
    return re.compile("".join(_PLACEHOLDERS.get(piece) or re.escape(piece) for piece in pieces))


def _resource(path: str) -> str:
    if not path.startswith("/") or not all(_SEGMENT.fullmatch(part) for part in path[1:].split("/")):
        raise BadPathError(path)
    for prefix in _PREFIXES:
        if path.startswith(prefix + "/"):
            return path[len(prefix) :]
    return path
