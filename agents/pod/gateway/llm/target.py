"""The target of a call to the key proxy: a call of inference below the provider's base URL. All other calls are
refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from yarl import URL

from agents.engines.providers import PROVIDERS, BadPathError, methods_of, upstream_url
from agents.pod.gateway.answers import Refusal
from agents.runtimes.base import PodConfig, PodSecrets

_CALL = re.compile(r"/llm/([a-z0-9-]{1,32})(/.*)")
_PRINTABLE = re.compile(r"[!-~]*")
# Query options in which vendors accept a key. The engine's value is checked and removed; the real key is sent in a
# header.
KEY_OPTIONS = {"key", "api_key", "apikey", "access_token"}
# The other options that clients of inference use: Anthropic's beta, Google's form of streaming, the pages of a list.
_OPTION = re.compile(
    r"beta=true|alt=(?:sse|json)|(?:limit|pageSize)=[0-9]{1,6}|(?:after|after_id|before_id|pageToken)=[\w.~%=-]{1,512}",
    re.ASCII,
)
# One vendor with two names.
_ALIASES = {"gemini": "google"}


@dataclass(frozen=True, slots=True)
class ModelCall:
    """The path and query that the engine asked for."""

    provider: str
    path: str
    query: str

    @property
    def shown_keys(self) -> list[str]:
        options = [part.partition("=") for part in self.query.split("&")]
        return [unquote(value) for name, _, value in options if _is_key_option(name)]

    @property
    def query_without_keys(self) -> str:
        return "&".join(part for part in self.query.split("&") if not _is_key_option(part.partition("=")[0]))


def read_call(raw_target: str) -> ModelCall:
    """Split the request target exactly as it was sent: not decoded and not normalised, so that it means the same to the
    checks here and to the provider. Raises Refusal (404).
    """
    path, _, query = raw_target.partition("?")
    found = _CALL.fullmatch(path)
    if found is None or not _PRINTABLE.fullmatch(raw_target):
        raise Refusal(404, "the key proxy serves /llm/<provider>/… only")
    return ModelCall(found[1], found[2], query)


def upstream(call: ModelCall, method: str, *, config: PodConfig, secrets: PodSecrets) -> URL:
    """The only address that this call may reach. Raises Refusal for other providers, and for calls that are not
    inference.
    """
    if call.provider not in PROVIDERS or not _same(call.provider, config.provider):
        raise Refusal(403, f"provider: this agent is configured only for {config.provider}")
    try:
        _check_inference(call, method)
        address = upstream_url(call.provider, _base(call.provider, secrets), call.path)
    except BadPathError as error:
        raise Refusal(400, "path: only plain segments are forwarded: letters, digits and - . _ : @ +") from error
    query = call.query_without_keys
    return URL(f"{address}?{query}" if query else address, encoded=True)


def _check_inference(call: ModelCall, method: str) -> None:
    allowed = methods_of(call.provider, call.path)
    if not allowed:
        calls = ", ".join(PROVIDERS[call.provider].calls)
        raise Refusal(404, f"path: only inference is forwarded; of {call.provider}: {calls}")
    if method not in allowed:
        names = ", ".join(sorted(allowed))
        raise Refusal(405, f"method: only {names} is forwarded to this path", Allow=names)
    for option in filter(None, call.query_without_keys.split("&")):
        if not _OPTION.fullmatch(option):
            raise Refusal(400, f"query: {option.partition('=')[0]} is not an option that is forwarded")


def _base(provider: str, secrets: PodSecrets) -> str:
    base = urlsplit(secrets.llm_base_url or PROVIDERS[provider].base_url)
    if base.scheme not in {"http", "https"} or not base.hostname:
        raise Refusal(502, "the provider's base URL is not an http address")
    return f"{base.scheme}://{base.netloc.rpartition('@')[2]}{base.path}"


def _same(asked: str, configured: str | None) -> bool:
    return _ALIASES.get(asked, asked) == _ALIASES.get(configured or "", configured)


def _is_key_option(name: str) -> bool:
    return unquote(name).lower() in KEY_OPTIONS
