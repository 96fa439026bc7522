from __future__ import annotations

import aiohttp
import pytest

from agents.pod.gateway.llm import failures


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (TimeoutError(), 504, "openai did not answer in time"),
        (aiohttp.ServerTimeoutError(), 504, "openai did not answer in time"),
        (aiohttp.ServerDisconnectedError(), 502, "openai broke off its answer"),
        (aiohttp.ClientPayloadError(), 502, "openai broke off its answer"),
    ],
)
def test_a_provider_without_an_answer_is_told_by_what_it_did(error: Exception, status: int, said: str) -> None:
    refusal = failures.unreachable("openai", error)
    assert (refusal.status, refusal.message) == (status, said)
