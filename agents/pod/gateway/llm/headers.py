"""What passes the key proxy in headers: the engine's credentials never go out, the provider's never come in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from multidict import CIMultiDict, CIMultiDictProxy

from agents.engines.providers import PROVIDERS, KeyHeader
from agents.pod.gateway.answers import Refusal, same_secret
from agents.pod.masking import mask_text

_HOP_BY_HOP = {
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
KEY_HEADERS = ("authorization", "x-api-key", "x-goog-api-key")
_NOT_SENT = {
    *_HOP_BY_HOP,
    *KEY_HEADERS,
    "accept-encoding",  # an answer that is packed could not be masked
    "content-encoding",  # our server has unpacked the body
    "content-length",
    "expect",
    "host",
    "http2-settings",
    # Whom a call is booked to is the key's matter.
    "openai-organization",
    "openai-project",
    "via",
    "x-goog-user-project",
    "x-real-ip",
}
# Parts of names: credentials of any kind, and what makes a server or what stands before it see another method, path or
# host than the ones that were judged.
_NEVER_SENT = re.compile(
    r"auth|api-?key|token|secret|cookie|credential"
    r"|forwarded|method|^x-(?:original|rewrite|rewritten|host|http|url|uri|path|envoy)"
)
# What aiohttp unpacks.
_UNPACKED = {"identity", "gzip", "deflate"}
_NOT_RETURNED = {
    *_HOP_BY_HOP,
    *KEY_HEADERS,
    "alt-svc",  # would lead the engine past us
    "content-encoding",
    "content-length",
    "location",
    "refresh",
    "set-cookie",
    "strict-transport-security",
    "www-authenticate",
}


def shown_keys(headers: CIMultiDictProxy[str]) -> Iterator[str]:
    """Whatever the engine shows as its key, in any of the vendors' headers."""
    for name in KEY_HEADERS:
        for value in headers.getall(name, []):
            yield _bearer(value) if name == "authorization" else value


def check_token(shown: Iterable[str], token: str) -> None:
    """At least one key is shown, and every one is the pod's token."""
    verdicts = [same_secret(key, token) for key in shown]
    if not verdicts or not all(verdicts):
        raise Refusal(401, "the pod's model token is missing or wrong")


def outgoing(headers: CIMultiDictProxy[str], *, provider: str, key: str) -> CIMultiDict[str]:
    """The engine's headers as the provider gets them, with the real key where this provider looks for it."""
    kept = passed_on(headers)
    name, value = _key_header(headers, provider, key)
    if not (value.isascii() and value.isprintable()):
        raise Refusal(400, "the installed model key has characters that no header can carry")
    kept[name] = value
    return kept


def passed_on(headers: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    """The engine's headers without its credentials, and without those that only concern its way to us."""
    dropped = _NOT_SENT | _named_by_connection(headers)
    kept = CIMultiDict(
        (name, value)
        for name, value in headers.items()
        if (plain := name.lower().replace("_", "-")) not in dropped and not _NEVER_SENT.search(plain)
    )
    kept["Accept-Encoding"] = "identity"
    return kept


def check_unpacked(headers: CIMultiDictProxy[str], provider: str) -> None:
    """A packed answer that our client does not unpack could bring the key back unseen."""
    packed = [name.strip().lower() for value in headers.getall("content-encoding", []) for name in value.split(",")]
    if len(packed) > 1 or not _UNPACKED.issuperset(packed):
        raise Refusal(502, f"{provider} packed its answer though it was asked not to")


def incoming(headers: CIMultiDictProxy[str], *, key: str) -> CIMultiDict[str]:
    """The provider's headers as the engine gets them."""
    dropped = _NOT_RETURNED | _named_by_connection(headers)
    return CIMultiDict(
        (name, mask_text(value, [key])) for name, value in headers.items() if name.lower() not in dropped
    )


def _key_header(headers: CIMultiDictProxy[str], provider: str, key: str) -> tuple[str, str]:
    wanted = PROVIDERS[provider].key_header
    # Google takes a bearer on its OpenAI-compatible paths, and only clients of those show one.
    if wanted is KeyHeader.BEARER or (wanted is KeyHeader.GOOGLE and "authorization" in headers):
        return "Authorization", f"Bearer {key}"
    return str(wanted), key


def _bearer(value: str) -> str:
    scheme, _, token = value.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else value


def _named_by_connection(headers: CIMultiDictProxy[str]) -> set[str]:
    values = headers.getall("connection", [])
    return {name.strip().lower() for value in values for name in value.split(",")}
