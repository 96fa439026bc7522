"""What one model call took, read from the vendor's own words in any of the four protocols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

# More tokens than any call can have. A larger number is no number of tokens.
MOST_TOKENS = 10**9


class ModelProtocol(StrEnum):
    CHAT = "chat"  # also of embeddings
    RESPONSES = "responses"
    MESSAGES = "messages"
    GOOGLE = "google"


@dataclass(frozen=True, slots=True)
class Tokens:
    input: int = 0  # of the whole request
    cached: int = 0  # the part of `input` that was read from the vendor's cache
    written: int = 0  # the part of `input` that was written to it
    output: int = 0  # of the whole answer
    reasoning: int = 0  # the part of `output` that nobody sees


def protocol_of(path: str) -> ModelProtocol | None:
    """The protocol of a call to this path; None for a call that vendors do not charge for."""
    if path.endswith(("/count_tokens", ":countTokens")):
        return None
    if path.endswith("/messages"):
        return ModelProtocol.MESSAGES
    if path.endswith("/responses"):
        return ModelProtocol.RESPONSES
    return ModelProtocol.GOOGLE if ":" in path.rpartition("/")[2] else ModelProtocol.CHAT


def read(usage: object, protocol: ModelProtocol) -> Tokens | None:
    """The tokens that a vendor's `usage` tells; None if it tells none."""
    if not isinstance(usage, Mapping):
        return None
    match protocol:
        case ModelProtocol.MESSAGES:
            return _of_messages(usage)
        case ModelProtocol.GOOGLE:
            return _of_google(usage)
        case ModelProtocol.RESPONSES:
            return _of_openai(usage, "input", "output")
        case ModelProtocol.CHAT:
            return _of_openai(usage, "prompt", "completion")


def _of_openai(usage: Mapping[str, Any], request: str, answer: str) -> Tokens | None:
    given = _number(usage, f"{request}_tokens")
    if given is None:
        return None
    cached = _number(_inside(usage, f"{request}_tokens_details"), "cached_tokens")
    if cached is None:
        cached = _number(usage, "prompt_cache_hit_tokens")  # deepseek's name
    reasoning = _number(_inside(usage, f"{answer}_tokens_details"), "reasoning_tokens") or 0
    answered = _number(usage, f"{answer}_tokens") or 0
    # Some vendors leave the reasoning out of the answer's tokens, and only add it to the sum.
    output = max(answered, (_number(usage, "total_tokens") or 0) - given)
    return Tokens(input=given, cached=min(cached or 0, given), output=output, reasoning=min(reasoning, output))


def _of_messages(usage: Mapping[str, Any]) -> Tokens | None:
    """Anthropic does not count what was cached among `input_tokens`."""
    plain, output = _number(usage, "input_tokens"), _number(usage, "output_tokens")
    if plain is None and output is None:
        return None
    cached = _number(usage, "cache_read_input_tokens") or 0
    written = _number(usage, "cache_creation_input_tokens") or 0
    return Tokens(input=(plain or 0) + cached + written, cached=cached, written=written, output=output or 0)


def _of_google(usage: Mapping[str, Any]) -> Tokens | None:
    given = _number(usage, "promptTokenCount")
    if given is None:
        return None
    reasoning = _number(usage, "thoughtsTokenCount") or 0
    cached = _number(usage, "cachedContentTokenCount") or 0
    request = given + (_number(usage, "toolUsePromptTokenCount") or 0)
    output = (_number(usage, "candidatesTokenCount") or 0) + reasoning
    return Tokens(input=request, cached=min(cached, request), output=output, reasoning=reasoning)


def _inside(usage: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = usage.get(name)
    return found if isinstance(found, Mapping) else {}


def _number(usage: Mapping[str, Any], name: str) -> int | None:
    found = usage.get(name)
    return found if type(found) is int and 0 <= found <= MOST_TOKENS else None
