"""Deleting agents in the admin with a real Chromium: what an operator sees, types and clicks."""

from __future__ import annotations

import asyncio

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from agents.models import Agent
from tests.agents.conftest import MakeAgent, settle
from tests.billing.pages.hands import Hands
from tests.browser import Browser

pytestmark = pytest.mark.browser

PASSWORD = "a password that is long"
BOTH = "document.querySelectorAll('.action-select').forEach(box => box.click())"
DELETE = "document.querySelector('select[name=action]').value = 'delete_agents'"
TWICE = "(b => { b.click(); b.click(); })(document.querySelector('input[name=confirm]'))"


async def there(person: Hands, selector: str) -> None:
    """Once the page has it."""
    async with asyncio.timeout(30):
        while not await person.said(f"document.querySelector({selector!r}) !== null"):
            await person.browser._settle()


async def deleting(server: str) -> tuple[str, str, str, list[str]]:
    async with Browser() as browser:
        person = Hands(browser, server)
        await person.open("/admin/login/?next=/admin/agents/agent/")
        await person.type("#id_username", "operator@example.com")
        await person.type("#id_password", PASSWORD)
        await person.click("input[type=submit]")
        await there(person, "button[name=index]")
        await person.said(BOTH)
        await person.said(DELETE)
        await person.click("button[name=index]")
        await there(person, "#id_reason")
        asking = await person.html()
        await person.type("#id_reason", "asked for by mail")
        await person.click("input[name=confirm]")
        refused = await person.html()
        await person.type("#id_count", "2")
        await person.said(TWICE)
        await there(person, ".messagelist")
        done = await person.html()
        return asking, refused, done, browser.visited.complaints


@pytest.mark.django_db(transaction=True)
def test_two_agents_are_shown_counted_and_deleted_once(live_server: LiveServer, make_agent: MakeAgent) -> None:
    agents = [settle(make_agent(name=name)) for name in ("Night Owl", "Day Owl")]
    User.objects.create_superuser("operator@example.com", PASSWORD)
    asking, refused, done, complaints = asyncio.run(deleting(live_server.url))
    for agent in agents:
        assert agent.pk in asking
        assert agent.name in asking
    assert "This is for 2 rows. Nothing has been done yet." in asking
    assert "This is for 2 rows" in refused, "without the number it stays where it is"
    assert "sked to be deleted" in done
    assert set(Agent.objects.values_list("desired", flat=True)) == {"deleted"}
    assert [agent.transitions.filter(note__startswith="deletion asked for").count() for agent in agents] == [1, 1]
    assert complaints == []
