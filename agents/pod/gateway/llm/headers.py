"""Filters the headers at the key proxy: the engine's credentials are never sent out, and the provider's
never come in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from multidict import CIMultiDict, CIMultiDictProxy

from agents.engines.providers import PROVIDERS, KeyHeader
from agents.pod import hop_by_hop
from agents.pod.gateway.answers import Refusal, same_secret
from agents.pod.gateway.masked_headers import masked

KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")
_NOT_SENT = {
    *KEY_HEADERS,
    "accept-encoding",  # a compressed answer could not be masked
    "content-encoding",  # the gateway's HTTP server has unpacked the body
    "content-length",
    "expect",
    "host",
    "http2-settings",
    # Which account a call is billed to depends only on the key.
    "openai-organization",
    "openai-project",
    "via",
    "x-goog-user-project",
    "x-real-ip",
}
# Parts of header names. They mark credentials of any kind, or headers that make a server, or a proxy in front of it,
# use another method, path or host than those that were checked here.
_NEVER_SENT = re.compile(
    r"auth|api-?key|token|secret|cookie|credential"
    r"|forwarded|method|^x-(?:original|rewrite|rewritten|host|http|url|uri|path|envoy)"
)
# Encodings that aiohttp unpacks.
_UNPACKED = {"identity", "gzip", "deflate"}
_NOT_RETURNED = {
    *KEY_HEADERS,
    "alt-svc",  # would let the engine bypass this proxy
    "content-encoding",
    "content-length",
    "location",
    "refresh",
    "set-cookie",
    "strict-transport-security",
    "www-authenticate",
}


def shown_keys(headers: CIMultiDictProxy[str]) -> Iterator[str]:
    """All values that the engine sends as its key, in any vendor's header."""
    for name in KEY_HEADERS:
        for value in headers.getall(name, []):
            yield _bearer(value) if name == "authorization" else value


def check_token(shown: Iterable[str], token: str) -> None:
    """Raises Refusal (401) unless at least one key is shown and every shown key is the pod's token."""
    verdicts = [same_secret(key, token) for key in shown]
    if not verdicts or not all(verdicts):
        raise Refusal(401, "the pod's model token is missing or wrong")


def outgoing(headers: CIMultiDictProxy[str], *, provider: str, key: str) -> CIMultiDict[str]:
    """The engine's headers as they are sent to the provider, with the real key in the header that this
    provider uses.
    """
    kept = passed_on(headers)
    name, value = _key_header(headers, provider, key)
    if not (value.isascii() and value.isprintable()):
        raise Refusal(400, "the installed model key has characters that no header can carry")
    kept[name] = value
    return kept


def passed_on(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """The engine's headers without its credentials, and without headers that only concern its connection
    to this proxy.
    """
    dropped = _NOT_SENT | hop_by_hop.names_in(headers)
    kept = CIMultiDict(
        (name, value)
        for name, value in headers.items()
        if (plain := name.lower().replace("_", "-")) not in dropped and not _NEVER_SENT.search(plain)
    )
    kept["Accept-Encoding"] = "identity"
    return kept


def check_unpacked(headers: CIMultiDictProxy[str], provider: str) -> None:
    """Raises Refusal (502) for an answer that our client cannot unpack: it could contain the key without
    being masked.
    """
    packed, sent = _words(headers, "content-encoding"), _words(headers, "transfer-encoding")
    if len(packed) > 1 or not _UNPACKED.issuperset(packed) or not {"chunked"}.issuperset(sent):
        raise Refusal(502, f"{provider} packed its answer though it was asked not to")


def _words(headers: CIMultiDictProxy[str], name: str) -> list[str]:
    return [word.strip().lower() for value in headers.getall(name, []) for word in value.split(",")]


def incoming(headers: CIMultiDictProxy[str], *, key: str) -> CIMultiDict[str]:
    """The provider's headers as they are sent to the engine."""
    dropped = _NOT_RETURNED | hop_by_hop.names_in(headers)
    return CIMultiDict((name, value) for name, value in masked(headers, [key]) if name.lower() not in dropped)


def _key_header(headers: CIMultiDictProxy[str], provider: str, key: str) -> tuple[str, str]:
    wanted = PROVIDERS[provider].key_header
    # Google accepts a bearer token on its OpenAI-compatible paths, and only clients of these paths send one.
    if wanted is KeyHeader.BEARER or (wanted is KeyHeader.GOOGLE and "authorization" in headers):
        return "Authorization", f"Bearer {key}"
    return str(wanted), key


def _bearer(value: str) -> str:
    scheme, _, token = value.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else value
