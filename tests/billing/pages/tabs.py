"""A tab of a real Chromium for a person: cookies, the mouse, the keyboard. It needs no script of the page."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

from tests.browser import Browser, Visit
from tests.catalog.pages.page import Page

GLANCE_SECONDS = 0.2
GLANCES = 300


class Tab(Browser):
    def __init__(self) -> None:
        super().__init__()
        self.visited = Visit()

    async def sign_in(self, url: str, cookies: dict[str, str]) -> None:
        for name, value in cookies.items():
            await self.call("Network.setCookie", url=url, name=name, value=value, httpOnly=True)

    async def scripts(self, *, on: bool) -> None:
        await self.call("Emulation.setScriptExecutionDisabled", value=not on)

    async def page(self) -> Page:
        """As it is now, whatever scripts have made of it."""
        while True:
            root = await self.call("DOM.getDocument", depth=0)
            try:
                found = await self.call("DOM.getOuterHTML", nodeId=root["root"]["nodeId"])
            except KeyError:  # no result: the document has just been replaced by another
                await asyncio.sleep(GLANCE_SECONDS)
            else:
                return Page(found["outerHTML"])

    async def until(self, text: str) -> Page:
        """Wait for the page to say so."""
        for _ in range(GLANCES):
            page = await self.page()
            if text in " ".join(page.one("body").text.split()):
                return page
            await asyncio.sleep(GLANCE_SECONDS)
        raise AssertionError(f"the page never said {text!r}")

    async def click(self, selector: str) -> None:
        x, y = await self._middle(selector)
        where: dict[str, Any] = {"x": x, "y": y, "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, **where)
        await self._settle()

    async def type(self, selector: str, text: str) -> None:
        await self.click(selector)
        await self.call("Input.insertText", text=text)

    async def picture(self) -> bytes:
        taken = await self.call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(taken["data"])

    async def _middle(self, selector: str) -> tuple[float, float]:
        root = await self.call("DOM.getDocument", depth=0)
        node = await self.call("DOM.querySelector", nodeId=root["root"]["nodeId"], selector=selector)
        assert node["nodeId"], f"nothing on the page is {selector}"
        await self.call("DOM.scrollIntoViewIfNeeded", nodeId=node["nodeId"])
        box = (await self.call("DOM.getBoxModel", nodeId=node["nodeId"]))["model"]["content"]
        return (box[0] + box[4]) / 2, (box[1] + box[5]) / 2
