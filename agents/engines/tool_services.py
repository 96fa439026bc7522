"""Services that tools use with a key of the owner's: where they are, and which of their calls an engine may make.

An engine sends `GW/services/<service><call>`. As with model keys, it gets the calls of the table and no others.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    base_url: str  # TOOL_SERVICE_URLS overrides it
    calls: tuple[str, ...]  # paths below it, all of them POST
    key_in_body: str = ""  # the member of a JSON body in which clients of this service also show their key


SERVICES: dict[str, Service] = {
    "tavily": Service(base_url="https://api.tavily.com", calls=("/search", "/extract"), key_in_body="api_key"),
    "openai": Service(
        base_url="https://api.openai.com/v1",
        calls=("/images/generations", "/images/edits", "/audio/speech", "/audio/transcriptions"),
    ),
}


def base_url(service: str, gateway_url: str) -> str:
    """What an engine takes for the service's address."""
    return f"{gateway_url}/services/{service}"
