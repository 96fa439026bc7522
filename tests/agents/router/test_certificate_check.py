"""The question that Caddy asks before it orders a certificate. Nobody else can ask it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from agents.domains import claims, records
from agents.models import Agent
from agents.router import certificate_check
from tests.doubles.name_server import NameServer
from tests.fixtures import OUR_ADDRESS

NAME = "bot.example.org"


def answers(*paths: str) -> list[int]:
    async def scenario() -> list[int]:
        async with TestClient(TestServer(certificate_check.application("secret-token"))) as client:
            return [(await client.get(path)).status for path in paths]

    return asyncio.run(scenario())


@pytest.fixture
def served(transactional_db: None, running: Agent, dns: NameServer, settings: Any, tmp_path: Any) -> None:
    settings.AGENTPODS_HOME = tmp_path
    dns.answers(NAME, [OUR_ADDRESS])
    claims.claim(running, NAME, seen=records.look(NAME), actor="user:x")


def test_a_name_that_may_have_one_is_200_and_any_other_403(served: None) -> None:
    asked = [f"/secret-token?domain={name}" for name in (NAME, "BOT.example.org.", "other.example.org")]
    assert answers(*asked) == [200, 200, 403]


def test_who_does_not_know_the_path_learns_nothing(served: None) -> None:
    assert answers(f"/?domain={NAME}", f"/guess?domain={NAME}", f"/%ff?domain={NAME}", "/guess?domain=x") == [404] * 4


@pytest.mark.parametrize(
    "name", ["", "localhost", "127.0.0.1%0a", "a/../b.example.org", "*.example.org", "ü.org", "a" * 300]
)
def test_what_is_no_name_is_refused_before_anybody_looks(served: None, name: str) -> None:
    assert answers(f"/secret-token?domain={name}") == [403]
