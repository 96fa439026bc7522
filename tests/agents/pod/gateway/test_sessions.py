from __future__ import annotations

import dataclasses

import pytest

from agents.pod.gateway.pod import Pod
from agents.pod.gateway.sessions import (
    SESSION_SECONDS,
    SESSIONS_AT_MOST,
    TRIES,
    TRIES_SECONDS,
    Sessions,
    TooManyTries,
)
from tests.agents.pod.gateway.process import CONFIG, SECRETS, document


class SessionClock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> SessionClock:
    return SessionClock()


@pytest.fixture
def pod() -> Pod:
    secrets = dataclasses.replace(SECRETS, dash_username="ada", dash_password="horse")
    return Pod(dataclasses.replace(document({}), config=CONFIG, secrets=secrets))


def test_a_session_lasts_half_a_day(pod: Pod, clock: SessionClock) -> None:
    sessions = Sessions(pod, clock)
    token = sessions.open_by_password("ada", "horse")
    assert token
    clock.now += SESSION_SECONDS - 1
    assert sessions.knows(token)
    clock.now += 1
    assert not sessions.knows(token)


def test_the_oldest_session_makes_place_for_a_new_one(pod: Pod, clock: SessionClock) -> None:
    sessions = Sessions(pod, clock)
    tokens = [sessions.open_by_password("ada", "horse") or "" for _ in range(SESSIONS_AT_MOST + 1)]
    assert not sessions.knows(tokens[0])
    assert all(sessions.knows(token) for token in tokens[1:])


def test_guesses_are_forgotten_after_a_while(pod: Pod, clock: SessionClock) -> None:
    sessions = Sessions(pod, clock)
    for _ in range(TRIES):
        assert sessions.open_by_password("ada", "wrong") is None
    clock.now += TRIES_SECONDS - 1
    with pytest.raises(TooManyTries) as refused:
        sessions.open_by_password("ada", "horse")
    assert refused.value.retry_after == 2
    clock.now += 1
    assert sessions.open_by_password("ada", "horse")
