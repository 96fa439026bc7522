"""A browser that looks at one page on a desk and a phone, light and dark, by keyboard, with scripts and without."""

from __future__ import annotations

import base64
import json
from typing import Any

from django.conf import settings

from tests.axe import ANY, barriers
from tests.browser import Browser
from tests.config.every_page.places import Place
from tests.keyboard import walked

PHONE, DESK = 390, 1366
MOST_BYTES = 100_000  # that cross the network for a page of a visitor who comes for the first time
# What can be seen that leads on; and buttons that do nothing by themselves.
_WAYS = """
(() => {
  const seen = one => one.checkVisibility({ visibilityProperty: true });
  const sends = form => [...form.elements].some(one => one.matches("button:not([type=button])") && seen(one));
  const main = document.querySelector("main");
  return JSON.stringify({
    ways: [...main.querySelectorAll("a[href]")].filter(seen).map(one => one.getAttribute("href")).concat(
      [...main.querySelectorAll("form")].filter(sends).map(one => one.method + " " + one.getAttribute("action"))),
    idle: [...main.querySelectorAll("button")].filter(one => seen(one) && !one.form).map(one => one.outerHTML),
  });
})()
"""
_SEND = """
(() => {
  const form = [...document.forms].find(one => one.getAttribute("action").endsWith(%s)), typed = %s;
  for (const [name, value] of Object.entries(typed)) form.elements[name].value = value;
  form.noValidate = true;
  form.requestSubmit();
})()
"""


class Looker(Browser):
    quiet_seconds = 0.1  # each visit waits for the page to be loaded, too

    def __init__(self, server: str) -> None:
        super().__init__()
        self.server = server

    async def be(self, token: str) -> None:
        await self.call("Network.clearBrowserCookies")
        await self.call("Network.setCacheDisabled", cacheDisabled=True)  # each page as the first one
        if token:
            cookie = {"name": settings.ACCOUNT_COOKIE_NAME, "value": token, "httpOnly": True}
            await self.call("Network.setCookie", url=self.server, **cookie)

    async def findings(self, place: Place) -> list[str]:
        """What is wrong with the page, a line each."""
        await self.visit(self.server + place.address, width=DESK)
        if place.signed_out:
            await self.call("Network.deleteCookies", name=settings.ACCOUNT_COOKIE_NAME, url=self.server)
        if place.form:
            await self._send(place)
            return await self._seen()
        if (there := await self._there()) != place.address:
            return [f"leads to {there}"]
        ways = await self._ways()
        return [*await self._seen(), *await self._scriptless(place, ways["ways"])]

    async def findings_at_an_agents_own(self, url: str) -> list[str]:
        """The page where one talks to it, which needs its script."""
        self.server = url.partition("/ticket")[0]
        await self.visit(url, width=DESK)
        return await self._seen()

    async def _seen(self) -> list[str]:
        """Of the page that is open."""
        found = await self._barriers(DESK) + await self._wider(DESK)
        await self.look(width=PHONE)
        # The walk unfolds what is folded: both are looked at.
        found += await self._wider(PHONE) + [f"by keyboard: {one}" for one in await walked(self)]
        return found + await self._barriers(PHONE) + await self._wider(PHONE) + self._asked()

    async def _barriers(self, width: int) -> list[str]:
        """Light and dark."""
        found = []
        for dark in (False, True):
            await self.look(width=width, dark=dark)
            look = f"{'dark' if dark else 'light'} at {width}"
            found += [f"{look}: {one}" for one in await barriers(self, impacts=ANY)]
        return found

    async def picture(self) -> bytes:
        taken = await self.call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(taken["data"])

    def _asked(self) -> list[str]:
        strange = [one for one in self.visited.requests if not one.startswith(self.server)]
        # That a page is not there is what some of them say.
        said = [one for one in self.visited.complaints if "Failed to load resource" not in one]
        heavy = [f"{self.visited.received} bytes"] if self.visited.received > MOST_BYTES else []
        empty = [] if self.visited.received > 1_000 else ["nothing came"]
        return [f"asks {one}" for one in strange] + said + heavy + empty

    async def _scriptless(self, place: Place, ways: list[str]) -> list[str]:
        """And in a language of long words."""
        language = {"name": settings.LANG_COOKIE_NAME, "url": self.server}
        await self.call("Network.setCookie", **language, value="ru")
        await self.call("Emulation.setScriptExecutionDisabled", value=True)
        await self.visit(self.server + place.address, width=PHONE)
        found, wide = await self._ways(), await self._wider(PHONE)
        await self.call("Emulation.setScriptExecutionDisabled", value=False)
        await self.call("Network.deleteCookies", **language)
        left = {one.replace("/ru/", "/en/") for one in found["ways"]}
        lost = [f"without scripts: no {one}" for one in ways if one not in left]
        return lost + [f"without scripts: idle {one}" for one in found["idle"]] + [f"in Russian: {one}" for one in wide]

    async def _send(self, place: Place) -> None:
        action, typed = json.dumps(place.form), json.dumps(place.typed)
        told = await self.call("Runtime.evaluate", expression=_SEND % (action, typed))
        assert "exceptionDetails" not in told, (place, told)
        self.quiet_seconds, usual = 0.5, self.quiet_seconds
        await self._settle()
        self.quiet_seconds = usual
        await self.loaded()

    async def _there(self) -> str:
        told = await self.call("Runtime.evaluate", expression="location.pathname + location.search")
        return str(told["result"]["value"])

    async def _ways(self) -> dict[str, Any]:
        told = await self.call("Runtime.evaluate", expression=_WAYS)
        assert "exceptionDetails" not in told, told
        ways: dict[str, Any] = json.loads(told["result"]["value"])
        return ways

    async def _wider(self, width: int) -> list[str]:
        measured = await self.call("Runtime.evaluate", expression="document.documentElement.scrollWidth")
        wide = measured["result"]["value"]
        return [f"{wide} pixels wide in a window of {width}"] if wide > width else []
