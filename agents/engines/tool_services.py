"""External services that tools use with a key of the owner: their addresses, and which of their calls an engine may
make.
An engine calls `<gateway>/services/<service><call>`. As with model keys, it may make only the calls in the table.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    base_url: str  # TOOL_SERVICE_URLS overrides it
    calls: tuple[str, ...]  # paths below base_url, all for POST
    key_in_body: str = ""  # the field of a JSON body in which clients of this service also send their key


SERVICES: dict[str, Service] = {
    "tavily": Service(base_url="https://api.tavily.com", calls=("/search", "/extract"), key_in_body="api_key"),
    "openai": Service(
        base_url="https://api.openai.com/v1",
        calls=("/images/generations", "/images/edits", "/audio/speech", "/audio/transcriptions"),
    ),
}


def base_url(service: str, gateway_url: str) -> str:
    """The address that an engine uses for the service."""
    return f"{gateway_url}/services/{service}"
