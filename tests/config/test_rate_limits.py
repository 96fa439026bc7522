"""`RateLimit-Policy` and `RateLimit`: what a call counted against, and what is left."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from rest_framework.test import APIClient

from accounts import throttling
from accounts.throttling import Limit, spend
from config import rate_limits

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def ask(api: APIClient, number: int = 1, **headers: str) -> Any:
    return api.post("/auth/request", {"email": f"{number}@example.com"}, format="json", headers=headers)


@pytest.mark.parametrize("away", [False, True], ids=["redis", "process"])
def test_each_answer_says_how_many_calls_are_left(api: APIClient, away: bool, request: pytest.FixtureRequest) -> None:
    throttling.forget_local()
    if away:
        request.getfixturevalue("redis_away")
    for number in range(1, 13):
        answer = ask(api, number)
        assert answer["RateLimit-Policy"] == '"auth-request";q=10;w=600'
        left, seconds = map(int, re.fullmatch(r'"auth-request";r=(\d+);t=(\d+)', answer["RateLimit"]).groups())  # type: ignore[union-attr]
        assert (left, answer.status_code) == (max(10 - number, 0), 202 if number <= 10 else 429)
        assert 590 <= seconds <= 600
        assert answer.get("Retry-After") == (str(seconds) if number > 10 else None)


def test_a_call_without_a_limit_says_nothing(api: APIClient) -> None:
    ask(api)
    for answer in (api.get("/tiers"), api.get("/status"), api.get("/nowhere")):
        assert not answer.has_header("RateLimit")


def test_our_own_limits_at_others_are_not_told_and_two_limits_are_told_in_one_header() -> None:
    one, other = (Limit(name=name, times=2, seconds=60) for name in ("one", "other"))
    rate_limits.begin()
    for limit in (one, Limit(name="ours", times=5, seconds=60, told=False), other):
        spend(limit, by="x", now=NOON)
    told = rate_limits.headers()
    rate_limits.forget()
    assert told == {
        "RateLimit-Policy": '"one";q=2;w=60, "other";q=2;w=60',
        "RateLimit": '"one";r=1;t=60, "other";r=1;t=60',
    }
    spend(one, by="x", now=NOON)  # outside of a call: nobody is told, and nothing is kept
    assert rate_limits.headers() == {}
