"""Deleting agents in the admin with a real Chromium: what an operator sees, types and clicks."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from agents.models import Agent
from tests.agents.conftest import MakeAgent, settle
from tests.browser import complaints, one_window

pytestmark = pytest.mark.browser

PASSWORD = "a password that is long"
TWICE = "button => { button.click(); button.click(); }"


async def delete(server: str, named: list[str]) -> None:
    async with one_window(server) as page:
        await page.goto("/admin/login/?next=/admin/agents/agent/")
        await page.locator("#id_username").fill("operator@example.com")
        await page.locator("#id_password").fill(PASSWORD)
        await page.get_by_role("button", name="Log in").click()
        await page.locator("#action-toggle").check()
        await page.locator("select[name=action]").select_option("delete_agents")
        await page.locator("button[name=index]").click()
        asking = page.locator("body")
        for text in [*named, "This is for 2 rows. Nothing has been done yet."]:
            await expect(asking).to_contain_text(text)
        await page.locator("#id_reason").fill("asked for by mail")
        await page.locator("input[name=confirm]").click()
        await page.wait_for_load_state()
        await expect(asking).to_contain_text("This is for 2 rows")  # without the number, the page stays
        await page.locator("#id_count").fill("2")
        await page.locator("input[name=confirm]").evaluate(TWICE)
        await expect(page.locator(".messagelist")).to_contain_text("Deletion requested")
        assert await complaints(page) == []


@pytest.mark.django_db(transaction=True)
def test_two_agents_are_shown_counted_and_deleted_once(live_server: LiveServer, make_agent: MakeAgent) -> None:
    agents = [settle(make_agent(name=name)) for name in ("Night Owl", "Day Owl")]
    User.objects.create_superuser("operator@example.com", PASSWORD)
    asyncio.run(delete(live_server.url, [text for agent in agents for text in (agent.pk, agent.name)]))
    assert set(Agent.objects.values_list("desired", flat=True)) == {"deleted"}
    assert [agent.transitions.filter(note__startswith="deletion requested").count() for agent in agents] == [1, 1]
