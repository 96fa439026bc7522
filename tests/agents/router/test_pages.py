"""The router's own pages come in the language of the visitor's browser."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp.test_utils import TestClient

from agents.models import Agent, Status
from agents.router.addresses import FRESH_SECONDS
from agents.router.words import WORDS
from tests.agents.router.test_proxy import ListenerPod, between


def test_its_pages_come_in_the_language_of_the_browser_and_else_in_the_agents(host: str, running: Agent) -> None:
    async def shows(client: TestClient[Any, Any], name: str, asked: str, lang: str, *words: str) -> None:
        async with client.get("/", headers={"Host": name, "Accept-Language": asked}) as reply:
            page = await reply.text()
            assert (reply.headers["Content-Language"], reply.headers["Vary"]) == (lang, "Accept-Language")
            assert f'<html lang="{lang}">' in page
            assert all(WORDS[lang][word] in page for word in words)

    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        for lang in WORDS:
            await shows(client, host, f"de, {lang};q=0.8", lang, "asleep_title", "asleep_stopped", "asleep_link")
            await shows(client, "elsewhere.example", f"{lang}-XX", lang, "gone_title", "gone_text")
            await shows(client, "a..b", lang, lang, "odd_title", "odd_text")
        await shows(client, host, "de, *", "ru", "asleep_title")
        await shows(client, "elsewhere.example", "de, *", "en", "gone_title")

    between(running, scenario, status=Status.STOPPED, lang="ru")


def test_a_pod_that_is_not_reached_and_a_socket_that_is_not_opened_are_told_in_it_too(
    host: str, running: Agent
) -> None:
    async def scenario(client: TestClient[Any, Any], pod: ListenerPod) -> None:
        socket = {"Connection": "Upgrade", "Upgrade": "websocket"}
        for asked, lang in (("pt-BR", "pt"), ("ja", "ru")):
            headers = {"Host": host, "Accept-Language": asked, **socket}
            async with client.get("/refuses", headers=headers) as reply:
                assert (reply.status, reply.headers["Content-Language"]) == (429, lang)
                assert WORDS[lang]["refused_text"] in await reply.text()
        await Agent.objects.filter(pk=running.pk).aupdate(endpoint_url="http://127.0.0.1:1")
        await asyncio.sleep(FRESH_SECONDS)
        async with client.get("/", headers={"Host": host, "Accept-Language": "id"}) as reply:
            assert WORDS["id"]["unreachable_text"] in await reply.text()

    between(running, scenario, lang="ru")
