"""The account in a real Chromium, with scripts and without: signing in, a key that is copied once, signing out."""

from __future__ import annotations

import asyncio
import re

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.models import ApiKey, Session, User
from agents.runtimes.base import Endpoint
from tests.agents.conftest import MakeAgent, settle
from tests.billing.pages.hands import Hands
from tests.browser import Browser
from tests.doubles.runtime import ScriptedRuntime

pytestmark = pytest.mark.browser

SECRET = re.compile(r"ak_live_[A-Za-z0-9]{40}")
# Whether a form may be sent, asked twice at once: what a double click does.
SENT_TWICE = """
[1, 2].map(() => document.querySelector("#keys form").dispatchEvent(
  new SubmitEvent("submit", { bubbles: true, cancelable: true })))
"""
SUBMIT = "main form.stack button"


async def sign_in(person: Hands) -> None:
    await person.open("/account?lang=en")
    await person.type("#email", "ann@example.com")
    await person.click(SUBMIT)
    code = re.search(r'<code class="secret">(\d{6})</code>', await person.html())
    assert code
    await person.type("#code", code[1])
    await person.click(SUBMIT)


async def make_key(person: Hands) -> str:
    await person.type("#name", "laptop")
    await person.click("#keys form button")
    found = SECRET.search(await person.html())
    assert found
    return found[0]


async def _with_scripts(server: str) -> dict[str, object]:
    async with Browser() as browser:
        person = Hands(browser, server)
        await sign_in(person)
        secret = await make_key(person)
        rights = {"origin": server, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
        await browser.call("Browser.grantPermissions", **rights)
        await person.click("[data-copy]")
        told = {
            "secret": secret,
            "copied": await person.said("navigator.clipboard.readText()"),
            "button": await person.said("document.querySelector('[data-copy]').textContent"),
            "read by scripts": await person.said("document.cookie"),
            "cookies": await person.cookies(),
            "complaints": browser.visited.complaints,
        }
        await person.open("/account")
        told["shown again"] = secret in await person.html()
        told["sent"] = await person.said(SENT_TWICE)
        return told


def test_a_key_is_copied_by_one_click_and_never_shown_again(live_server: LiveServer) -> None:
    told = asyncio.run(_with_scripts(live_server.url))
    assert told["copied"] == told["secret"]
    assert told["button"] == "Copied"
    assert told["sent"] == [True, False]
    assert (told["shown again"], told["read by scripts"], told["complaints"]) == (False, "", [])
    flags = {(one["name"], one["httpOnly"], one.get("sameSite")) for one in told["cookies"]}  # type: ignore[attr-defined]
    assert flags == {(name, True, "Lax") for name in ("agentpods-account", "agentpods-lang", "csrf")}


async def _without_scripts(server: str) -> dict[str, object]:
    async with Browser() as browser:
        person = Hands(browser, server, scripts=False, width=375)
        await sign_in(person)
        told: dict[str, object] = {"secret": await make_key(person)}
        told["button"] = 'data-copied="Copied" hidden' in await person.html()
        await person.click("#secret")
        told["selected"] = await person.said("getSelection().toString()")
        await person.open("/account")
        await person.click("#keys .lines a.button")
        await person.click("main form button.danger")
        await person.click(".self button")
        told["end"] = await person.html()
        return told


def test_all_of_it_works_without_scripts(live_server: LiveServer) -> None:
    told = asyncio.run(_without_scripts(live_server.url))
    assert told["selected"] == told["secret"], "one click selects the whole secret"
    assert told["button"] is True, "what needs a script is not shown"
    assert 'id="email"' in str(told["end"])
    assert (ApiKey.objects.get().revoked_at is not None, Session.objects.count()) == (True, 0)


async def _wide(server: str, width: int, *, dark: bool) -> None:
    async with Browser() as browser:
        person = Hands(browser, server, width=width)
        for place in ("/sign-in?lang=ru", "/sign-in"):
            visit = await browser.visit(server + place, width=width, dark=dark)
            assert (visit.width, visit.complaints) == (width, [])
            assert [one for one in visit.requests if not one.startswith(server)] == []
        await sign_in(person)
        visit = await browser.visit(f"{server}/account?lang=ru", width=width, dark=dark)
        assert (visit.width, visit.complaints) == (width, [])


@pytest.mark.parametrize("width", [320, 1280])
def test_every_page_asks_only_us_and_fits(live_server: LiveServer, width: int) -> None:
    asyncio.run(_wide(live_server.url, width, dark=width == 320))


async def _open_agent(server: str, place: str) -> list[str]:
    async with Browser() as browser:
        person = Hands(browser, server)
        await sign_in(person)
        await person.open(place)
        await person.click(f'form[action="{place}/ticket"] button')
        await asyncio.sleep(1)
        return [str(one["url"]) for one in (await browser.call("Target.getTargets"))["targetInfos"]]


def test_opening_an_agent_leads_to_its_own_page_on_another_host(
    live_server: LiveServer, make_agent: MakeAgent, runtime: ScriptedRuntime
) -> None:
    agent = settle(make_agent(User.objects.create_user("ann@example.com")))
    pod = live_server.url.replace("localhost", "127.0.0.1")
    runtime.addresses[agent.namespace] = Endpoint(public_url=pod, management_url=pod)
    opened = asyncio.run(_open_agent(live_server.url, f"/account/agents/{agent.pk}"))
    assert [place for place in opened if place.startswith(f"{pod}/ticket?t=")], opened
